// Calls of fs.cp with all kinds of arguments, each in an empty directory: calls.mjs WORK MODULE. Prints the outcomes as
// JSON: what a call returned or threw, with all fields, and what is there afterwards. WORK is shown as W.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const [, , base, module] = process.argv;
const impl = await import(module);
let n = 0;

function linkAndFile(d) {
  fs.symlinkSync('x', `${d}/a`);
  fs.writeFileSync(`${d}/b`, 'y');
}

const cases = {
  'dir onto file': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.writeFileSync(`${d}/b`, 'x');
    },
    'a',
    'b',
    { recursive: true },
  ],
  'file onto dir': [
    (d) => {
      fs.mkdirSync(`${d}/b`);
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'b',
    { recursive: true },
  ],
  'dir not recursive': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
    },
    'a',
    'b',
    {},
  ],
  same: [
    (d) => {
      fs.mkdirSync(`${d}/a`);
    },
    'a',
    'a',
    { recursive: true },
  ],
  'same file': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'a',
    {},
  ],
  'into itself': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
    },
    'a',
    'a/b',
    { recursive: true },
  ],
  'into itself by link': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.symlinkSync('a', `${d}/l`);
    },
    'a',
    'l/b',
    { recursive: true },
  ],
  missing: [(_d) => {}, 'a', 'b', {}],
  'missing recursive': [(_d) => {}, 'a', 'b', { recursive: true }],
  exists: [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.writeFileSync(`${d}/b`, 'y');
    },
    'a',
    'b',
    { force: false, errorOnExist: true },
  ],
  'dir exists': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
    },
    'a',
    'b',
    { recursive: true, force: false, errorOnExist: true },
  ],
  'file in dir exists': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
      fs.writeFileSync(`${d}/a/f`, 'x');
      fs.writeFileSync(`${d}/b/f`, 'y');
    },
    'a',
    'b',
    { recursive: true, force: false, errorOnExist: true },
  ],
  fifo: [
    (d) => {
      execFileSync('mkfifo', [`${d}/a`]);
    },
    'a',
    'b',
    {},
  ],
  'fifo within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      execFileSync('mkfifo', [`${d}/a/f`]);
    },
    'a',
    'b',
    { recursive: true },
  ],
  'link onto file': [linkAndFile, 'a', 'b', {}],
  'link onto file, verbatim': [linkAndFile, 'a', 'b', { verbatimSymlinks: true }],
  'link to a directory above, verbatim': [
    (d) => {
      fs.mkdirSync(`${d}/t/u`, { recursive: true });
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('t/u', `${d}/b`);
    },
    'a',
    'b',
    { verbatimSymlinks: true },
  ],
  'link onto file within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
      fs.symlinkSync('x', `${d}/a/f`);
      fs.writeFileSync(`${d}/b/f`, 'y');
    },
    'a',
    'b',
    { recursive: true },
  ],
  'link onto file no force': [linkAndFile, 'a', 'b', { force: false }],
  'link dangling again': [
    (d) => {
      fs.symlinkSync('x', `${d}/a`);
      fs.symlinkSync(`${d}/x`, `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link dangling changed': [
    (d) => {
      fs.symlinkSync('x', `${d}/a`);
      fs.symlinkSync('y', `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link to dir again': [
    (d) => {
      fs.mkdirSync(`${d}/t`);
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('t', `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link to dir above': [
    (d) => {
      fs.mkdirSync(`${d}/t/u`, { recursive: true });
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('t/u', `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link to dir below': [
    (d) => {
      fs.mkdirSync(`${d}/t/u`, { recursive: true });
      fs.symlinkSync('t/u', `${d}/a`);
      fs.symlinkSync('t', `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link to dir below within': [
    (d) => {
      fs.mkdirSync(`${d}/t/u`, { recursive: true });
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
      fs.symlinkSync('../t/u', `${d}/a/l`);
      fs.symlinkSync('../t', `${d}/b/l`);
    },
    'a',
    'b',
    { recursive: true },
  ],
  'link to file again': [
    (d) => {
      fs.writeFileSync(`${d}/t`, '');
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('t', `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link to other file': [
    (d) => {
      fs.writeFileSync(`${d}/t`, '');
      fs.writeFileSync(`${d}/u`, '');
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('u', `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'link no force': [
    (d) => {
      fs.writeFileSync(`${d}/t`, '');
      fs.writeFileSync(`${d}/u`, '');
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('u', `${d}/b`);
    },
    'a',
    'b',
    { force: false },
  ],
  'link no force errorOnExist': [
    (d) => {
      fs.writeFileSync(`${d}/t`, '');
      fs.writeFileSync(`${d}/u`, '');
      fs.symlinkSync('t', `${d}/a`);
      fs.symlinkSync('u', `${d}/b`);
    },
    'a',
    'b',
    { force: false, errorOnExist: true },
  ],
  'deref same by link': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.symlinkSync('a', `${d}/b`);
    },
    'a',
    'b',
    { dereference: true },
  ],
  'deref same by link 2': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.symlinkSync('a', `${d}/b`);
    },
    'b',
    'a',
    { dereference: true },
  ],
  'deref same within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
      fs.writeFileSync(`${d}/a/f`, 'x');
      fs.symlinkSync('../a/f', `${d}/b/f`);
    },
    'a',
    'b',
    { recursive: true, dereference: true },
  ],
  'link to own target': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.symlinkSync('a', `${d}/b`);
    },
    'b',
    'a',
    {},
  ],
  'hard link same': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.linkSync(`${d}/a`, `${d}/b`);
    },
    'a',
    'b',
    {},
  ],
  'hard link same within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
      fs.writeFileSync(`${d}/a/f`, 'x');
      fs.linkSync(`${d}/a/f`, `${d}/b/f`);
    },
    'a',
    'b',
    { recursive: true },
  ],
  'ficlone force': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'b',
    { mode: fs.constants.COPYFILE_FICLONE_FORCE },
  ],
  excl: [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.writeFileSync(`${d}/b`, 'y');
    },
    'a',
    'b',
    { mode: fs.constants.COPYFILE_EXCL },
  ],
  'empty src': [(_d) => {}, '', 'b', {}],
  'empty dest': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    '',
    {},
  ],
  'empty dest of dir': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.writeFileSync(`${d}/a/x`, 'x');
    },
    'a',
    '',
    { recursive: true },
  ],
  'file to n/': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'n/',
    {},
  ],
  'file to file/x': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      fs.writeFileSync(`${d}/b`, 'x');
    },
    'a',
    'b/x',
    {},
  ],
  'dir to file/x': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.writeFileSync(`${d}/b`, 'x');
    },
    'a',
    'b/x',
    { recursive: true },
  ],
  'src file/x': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a/x',
    'b',
    {},
  ],
  'dev null': [(_d) => {}, '/dev/null', 'b', {}],
  'dev null within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      execFileSync('mknod', [`${d}/a/n`, 'c', '1', '3']);
    },
    'a',
    'b',
    { recursive: true },
  ],
  parents: [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'p/q/r',
    {},
  ],
  'dir parents': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.writeFileSync(`${d}/a/x`, 'x');
    },
    'a',
    'p/q/r',
    { recursive: true },
  ],
  'file/dir conflict within': [
    (d) => {
      fs.mkdirSync(`${d}/a/x`, { recursive: true });
      fs.mkdirSync(`${d}/b`);
      fs.writeFileSync(`${d}/b/x`, 'x');
    },
    'a',
    'b',
    { recursive: true },
  ],
  'dir/file conflict within': [
    (d) => {
      fs.mkdirSync(`${d}/b/x`, { recursive: true });
      fs.mkdirSync(`${d}/a`);
      fs.writeFileSync(`${d}/a/x`, 'x');
    },
    'a',
    'b',
    { recursive: true },
  ],
  socket: [
    (d) => {
      const listen = `require('net').createServer().listen('a', () => process.kill(process.pid, 'SIGKILL'))`;
      spawnSync(process.execPath, ['-e', listen], { cwd: d });
    },
    'a',
    'b',
    {},
  ],
  'slash src file': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a/',
    'b',
    {},
  ],
  'onto fifo': [
    (d) => {
      fs.writeFileSync(`${d}/a`, 'x');
      execFileSync('mkfifo', [`${d}/b`]);
    },
    'a',
    'b',
    {},
  ],
  'parent is a dangling symlink': [
    (d) => {
      fs.symlinkSync('nope', `${d}/b`);
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'b/x',
    {},
  ],
  'parent of the parent is a dangling symlink': [
    (d) => {
      fs.symlinkSync('nope', `${d}/b`);
      fs.writeFileSync(`${d}/a`, 'x');
    },
    'a',
    'b/n/x',
    {},
  ],
  'fifo onto dir within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b/f`, { recursive: true });
      execFileSync('mkfifo', [`${d}/a/f`]);
    },
    'a',
    'b',
    { recursive: true },
  ],
  'dev null onto file within': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.mkdirSync(`${d}/b`);
      fs.writeFileSync(`${d}/b/n`, 'y');
      execFileSync('mknod', [`${d}/a/n`, 'c', '1', '3']);
    },
    'a',
    'b',
    { recursive: true },
  ],
  'the filter removes a directory': [
    (d) => fs.mkdirSync(`${d}/a/s`, { recursive: true }),
    'a',
    'b',
    {
      recursive: true,
      filter: (from) => {
        if (from.endsWith('/s')) fs.rmdirSync(from);
        return true;
      },
    },
  ],
  'beside by dots': [
    (d) => {
      fs.mkdirSync(`${d}/a/s`, { recursive: true });
      fs.writeFileSync(`${d}/a/s/f`, 'x');
    },
    'a/s',
    'a/s/../../b',
    { recursive: true },
  ],
  'beside by dots, new directories': [
    (d) => fs.mkdirSync(`${d}/a`),
    'a',
    'a/../b/c',
    { recursive: true },
  ],
  'inside by dots': [
    (d) => fs.mkdirSync(`${d}/a/s`, { recursive: true }),
    'a',
    'a/s/../b',
    { recursive: true },
  ],
  'filter that throws nothing': [
    (d) => fs.mkdirSync(`${d}/a`),
    'a',
    'b',
    {
      recursive: true,
      filter: () => {
        throw undefined;
      },
    },
  ],
  'deref dir onto a link to nothing': [
    (d) => {
      fs.mkdirSync(`${d}/a`);
      fs.symlinkSync('nowhere', `${d}/b`);
    },
    'a',
    'b',
    { recursive: true, dereference: true },
  ],
  'array of sources': [(d) => fs.mkdirSync(`${d}/a`), ['a'], 'b', { recursive: true }],
  'bad mode': [(_d) => {}, 'a', 'b', { mode: 9 }],
  nul: [(_d) => {}, 'a\0', 'b', {}],
};
/** Node 26 aborts the process. */
const skipSync = ['dir/file conflict within', 'file/dir conflict within'];

function treeOf(root, below = '', found = {}) {
  for (const name of fs.readdirSync(path.join(root, below)).sort()) {
    const at = path.join(below, name);
    const whole = path.join(root, at);
    const stat = fs.lstatSync(whole);
    if (stat.isSymbolicLink()) found[at] = `-> ${fs.readlinkSync(whole).replaceAll(root, 'W')}`;
    else if (stat.isFile()) found[at] = `file ${fs.readFileSync(whole, 'utf8')}`;
    else if (stat.isDirectory()) treeOf(root, at, Object.assign(found, { [at]: 'directory' }));
    else found[at] = 'special';
  }
  return found;
}

function show(error, root) {
  if (!error) return { code: `thrown: ${error}` };
  const { name, message } = error;
  // Its own fields, in any order, and how it is printed.
  const own = Object.entries(error).sort(([one], [other]) => (one < other ? -1 : 1));
  const printed = [`${error}`, error.stack.split('\n')[0]];
  const shown = JSON.stringify({ ...Object.fromEntries(own), name, message, printed });
  return JSON.parse(shown.replaceAll(root, 'W'));
}

const forms = {
  async: (...args) => impl.promises.cp(...args),
  sync: async (...args) => impl.cpSync(...args),
  callback: (...args) =>
    new Promise((resolve, reject) => {
      impl.cp(...args, (...given) => (given[0] ? reject(given[0]) : resolve(given)));
    }),
};

const outcomes = {};
for (const [form, copy] of Object.entries(forms)) {
  for (const [name, [make, from, to, options]] of Object.entries(cases)) {
    if (form === 'sync' && skipSync.includes(name)) continue;
    const root = path.join(base, `${n++}`);
    fs.mkdirSync(root, { recursive: true });
    make(root);
    const absolute = (at) =>
      Array.isArray(at) || at === '' || at.startsWith('/') ? at : `${root}/${at}`;
    const outcome = await copy(absolute(from), absolute(to), options).then(
      (given = []) => ({ passed: given.length }),
      (error) => show(error, root),
    );
    outcomes[`${form}: ${name}`] = { outcome, tree: treeOf(root) };
  }
}
fs.writeSync(1, JSON.stringify(outcomes));
