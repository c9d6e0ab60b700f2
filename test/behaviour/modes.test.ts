import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { CopyOptions, PreserveKind } from '../../lib/types.js';
import { CHILD, COMMAND, copyInChild, run } from '../support/child.js';
import { differences, readTree } from '../support/compare.js';
import { size } from '../support/form.js';
import { buildShim, withFaults } from '../support/shim.js';
import { makeFiles, makeZoo } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { isRoot, needRoot, needTool, workDirectory } from '../support/work.js';

// Final modes are the source's whatever acts on new files, and none is wider on its way there.

const work = workDirectory('modes');
const zoo = join(work, 'zoo');
const users = join(work, 'users');
let copies = 0;

beforeAll(() => {
  const owner = isRoot ? USER : (process.getuid?.() ?? 0);
  makeZoo(zoo, { wide: 10, ...(!isRoot && { owner }) });
  makeZoo(users, { wide: 10, owner });
});

/** A directory that everybody may write to, of which `dest` in it is free. */
function freshParent(): string {
  const parent = join(work, `parent ${copies++}`);
  mkdirSync(parent);
  chmodSync(parent, 0o777);
  return parent;
}

/** Calls `look` with a free name for SRC, and a directory that bindfs shows with these flags. */
async function throughBindfs(
  context: TestContext,
  flags: string[],
  look: (src: string, mapped: string) => Promise<void>,
): Promise<void> {
  needRoot(context);
  needTool(context, 'bindfs');
  const parent = freshParent();
  const [under, mapped] = [join(parent, 'under'), join(parent, 'mapped')];
  for (const path of [under, mapped]) mkdirSync(path);
  execFileSync('bindfs', [...flags, under, mapped]);
  try {
    await look(join(parent, 'src'), mapped);
  } finally {
    execFileSync('umount', [mapped]);
  }
}

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

function makeFile(path: string, mode: number, uid = 0, gid = uid): string {
  makeFiles(work, { [path.slice(work.length)]: 'x' });
  if (isRoot) chownSync(path, uid, gid);
  chmodSync(path, mode);
  return path;
}

const umasks = size(['077'], ['000', '022', '027', '077', '200', '400', '777']);

describe.for(umasks)('umask %s', (text) => {
  const umask = Number.parseInt(text, 8);

  test('of root, or whoever runs this', async () => {
    const dest = join(freshParent(), 'dest');
    const { error } = await copyInChild({ src: zoo, dest, umask });
    expect(error).toBeUndefined();
    expect(differences(zoo, dest)).toEqual([]);
  });

  test('of an ordinary user', async (context) => {
    needUser(context);
    const dest = join(freshParent(), 'dest');
    const { error } = await copyInChild({ src: users, dest, umask }, asUser);
    expect(error).toBeUndefined();
    expect(differences(users, dest)).toEqual([]);
  });

  test.for<[string, CopyOptions]>([
    ['', { verify: true }],
    ['', { verify: true, preserve: [] }],
    ['u::rwx,u:1234:rwx,g::rwx,m::rwx,o::r-x', { preserve: ['mode', 'xattrs'] }],
    ['u::rwx,u:1234:rwx,g::rwx,m::rwx,o::r-x', { preserve: ['mode', 'xattrs'], verify: true }],
  ])('of an ordinary user, beside a default ACL %s, %j', async ([list, options], context) => {
    needUser(context);
    const parent = freshParent();
    if (list) {
      needTool(context, 'setfacl');
      execFileSync('setfacl', ['-d', '-m', list, parent]);
    }
    const dest = join(parent, 'dest');
    const { error } = await copyInChild({ src: users, dest, umask, options }, asUser);
    expect(error).toBeUndefined();
    // Without `mode` umask decides.
    if (!Array.isArray(options.preserve) || options.preserve.length > 0)
      expect(differences(users, dest)).toEqual([]);
  });
});

test.for<CopyOptions>([
  { preserve: false },
  { preserve: false, sync: true },
  { preserve: false, mirror: true },
  { preserve: false, update: true },
  { preserve: false, backup: 'numbered' },
  { preserve: false, atomic: true },
  { preserve: ['timestamps'] },
  { preserve: ['ownership', 'xattrs', 'hardLinks'] },
])(
  "without preserving modes a replaced file keeps the permissions of DEST's, %o",
  async (options) => {
    const parent = freshParent();
    const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
    const modes = { private: 0o600, team: 0o660, all: 0o777, special: 0o6751, readable: 0o444 };
    for (const [name, mode] of Object.entries(modes)) {
      for (const end of [join(src, name), join(parent, `${name} alone`)]) makeFile(end, 0o644);
      const [inTree, alone] = [join(dest, name), join(parent, `${name} at`)];
      for (const old of [inTree, alone]) {
        makeFiles(parent, { [old.slice(parent.length)]: 'old' });
        utimesSync(old, 1, 1);
        chmodSync(old, mode);
      }
      await copyTree(join(parent, `${name} alone`), alone, options);
      expect([readFileSync(alone, 'utf8'), modeOf(alone)]).toEqual([
        'x',
        (mode & 0o777).toString(8),
      ]);
    }
    await copyTree(src, dest, options);
    for (const [name, mode] of Object.entries(modes)) {
      expect(readFileSync(join(dest, name), 'utf8')).toBe('x');
      expect(modeOf(join(dest, name))).toBe((mode & 0o777).toString(8));
    }
  },
);

test('without preserving modes, another group gets no more of a replaced file than everybody', async (context) => {
  needRoot(context);
  const parent = freshParent();
  const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
  makeFile(src, 0o664);
  makeFile(dest, 0o664, USER);
  await copyTree(src, dest, { preserve: false });
  expect(modeOf(dest)).toBe('644');
  needTool(context, 'setfacl');
  makeFile(dest, 0o600);
  execFileSync('setfacl', ['-m', `u:${USER}:r`, dest]);
  expect(modeOf(dest)).toBe('640');
  await copyTree(src, dest, { preserve: false });
  expect(modeOf(dest)).toBe('600');
});

test('without preserving modes a replaced file is at no moment wider than it was', async (context) => {
  needTool(context, 'strace');
  const parent = freshParent();
  const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
  makeFile(src, 0o644);
  makeFile(dest, 0o640);
  const trace = join(parent, 'trace');
  const strace = ['strace', '-f', '-o', trace, '-e', 'trace=openat,fchmod,fchmodat'];
  await copyInChild({ src, dest, options: { preserve: false } }, strace);
  const modes = readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => /\.fastcp-|fchmod/.test(line))
    .map((line) => /, (0[0-7]{3})\)/.exec(line)?.[1]);
  expect(modes).toEqual(['0600', '0640']);
});

test('verify that umask denies: the mode is as without', { tags: ['all'] }, async (context) => {
  needUser(context);
  const [plain, verified] = [join(freshParent(), 'dest'), join(freshParent(), 'dest')];
  const preserve: PreserveKind[] = [];
  await copyInChild({ src: users, dest: plain, umask: 0o400, options: { preserve } }, asUser);
  const options = { preserve, verify: true };
  const { error } = await copyInChild(
    { src: users, dest: verified, umask: 0o400, options },
    asUser,
  );
  expect(error).toBeUndefined();
  expect(differences(plain, verified)).toEqual([]);
});

describe('a file system that changes the bits of new files', () => {
  const changes = ['fgo-x', 'g+rw', 'a+rwX', 'og+X', 'o=g', 'u=rwD:g=rD:o=', 'a-x:go-rw'];
  test.for(changes)('%s', async (change, context) => {
    await throughBindfs(context, [`--create-with-perms=${change}`], async (src, mapped) => {
      for (const mode of [
        0o600, 0o600, 0o644, 0o755, 0o744, 0o400, 0o600, 0o744, 0o711, 0o644, 0o777,
      ]) {
        const name = `${mode.toString(8)} ${copies++}`;
        for (const at of ['', 'd/', `of ${name}/`]) makeFile(join(src, `${at}${name}`), mode);
      }
      for (const at of ['', 'd']) execFileSync('mkfifo', ['-m', '600', join(src, at, 'FIFO')]);
      const manners: CopyOptions[] = [{}, { preserve: true }, { mirror: true }, { concurrency: 1 }];
      for (const [index, options] of manners.entries()) {
        for (const exists of [false, true]) {
          const dest = join(mapped, `${index} ${exists}`);
          if (exists) {
            makeFiles(dest, { 'd/old': 'old' });
            for (const at of ['', 'd']) chmodSync(join(dest, at), 0o755); // it keeps its mode
          }
          await copyTree(src, dest, options);
          rmSync(join(dest, 'd/old'), { force: true });
          const { differences: found } = await compareTrees(src, dest);
          expect({ options, exists, found }).toEqual({ options, exists, found: [] });
        }
      }
    });
  });
});

describe('a file system that accepts', () => {
  /** Calls `look` with a DEST that ignores these calls. */
  const ignoring = (
    context: TestContext,
    calls: string[],
    look: (src: string, dest: string) => Promise<void>,
  ): Promise<void> =>
    throughBindfs(
      context,
      calls.map((call) => `--${call}-ignore`),
      (src, mapped) => look(src, join(mapped, 'dest')),
    );
  const preserve: PreserveKind[] = ['mode', 'ownership'];
  const told = { message: expect.stringContaining('ENOTSUP') };

  test('owners and modes and sets none: both are told', async (context) => {
    await ignoring(context, ['chown', 'chgrp', 'chmod'], async (src, dest) => {
      makeFile(join(src, 'file'), 0o755, USER);
      makeFile(join(src, 'd/file'), 0o600, USER);
      const { warnings } = await copyTree(src, dest, { preserve });
      expect(warnings.sort((a, b) => (a.code < b.code ? -1 : 1))).toMatchObject([
        { ...told, code: 'MODE_NOT_PRESERVED' },
        { ...told, code: 'OWNERSHIP_NOT_PRESERVED', count: 2 },
      ]);
      const strictly = copyTree(src, `${dest} 2`, { preserve, strict: true });
      await expect(strictly).rejects.toMatchObject({ code: 'ENOTSUP', syscall: 'fchmod' });
    });
  });

  test.for<[string[], string]>([
    [['chown', 'chgrp'], '755'],
    [['chown'], '2755'],
    [['chgrp'], '4755'],
  ])(
    'owners and sets none: no setuid or setgid of another owner, %o',
    async ([calls, mode], context) => {
      await ignoring(context, calls, async (src, dest) => {
        makeFile(join(src, 'file'), 0o6755, USER);
        for (const options of [{}, { sync: true }]) {
          const { warnings } = await copyTree(src, dest, { preserve, ...options });
          expect(warnings).toMatchObject([{ ...told, code: 'OWNERSHIP_NOT_PRESERVED', count: 1 }]);
          expect(modeOf(join(dest, 'file'))).toBe(mode);
        }
      });
    },
  );
});

describe('a default ACL on the parent of DEST', { tags: ['all'] }, () => {
  test.for([
    'u::rwx,g::---,o::---',
    'u::rwx,g::rwx,o::rwx',
    'u::r-x,g::r-x,o::r-x',
    'u::rwx,u:1234:rwx,g::rwx,m::rwx,o::r-x',
    'u::rwx,g:1234:r-x,g::r-x,m::r-x,o::---',
  ])('%s', async (acl, context) => {
    needTool(context, 'setfacl');
    needUser(context);
    for (const [src, before] of [
      [zoo, []],
      [users, asUser],
    ] as const) {
      const parent = freshParent();
      execFileSync('setfacl', ['-d', '-m', acl, parent]);
      const dest = join(parent, 'dest');
      const { error } = await copyInChild({ src, dest }, [...before]);
      expect(error).toBeUndefined();
      expect(differences(src, dest)).toEqual([]);
    }
  });
});

describe('never wider than in the end', () => {
  test.for(['new', 'replacing', 'in a setgid directory'] as const)('%s', async (how, context) => {
    needTool(context, 'strace');
    if (how === 'replacing') needRoot(context); // others may not write to read-only directories
    const parent = freshParent();
    const dest = join(parent, 'dest');
    const src = isRoot ? join(zoo, 'modes') : join(users, 'modes');
    if (how === 'replacing') await copyTree(src, dest);
    if (how === 'in a setgid directory') chmodSync(parent, 0o2777);
    const log = join(parent, 'log');
    const trace = 'trace=openat,open,creat,mkdir,mkdirat,mknodat,fchmod,fchmodat,chmod,renameat';
    const traced = ['strace', '-f', '-y', '-e', trace, '-o', log];
    const command = [...traced, process.execPath, COMMAND, src, dest];
    const { status } = await run(['sh', '-c', 'umask 0; exec "$@"', 'sh', ...command]);
    expect(status).toBe(0);
    const inherited = how === 'in a setgid directory' ? 0o2000 : 0;
    expect(tooWide(readFileSync(log, 'utf8'), src, dest, inherited)).toEqual([]);
  });
});

/** Calls that give what lies in DEST more than the mode it has in the end. Directories there have inherited some bits. */
function tooWide(log: string, src: string, dest: string, inherited: number): string[] {
  const finalModes = new Map(
    [...readTree(src)].map(([path, { kind, mode }]) => [
      path === '' ? basename(dest) : basename(path),
      kind === 'directory'
        ? Number.parseInt(mode, 8) | 0o700 | inherited
        : Number.parseInt(mode, 8),
    ]),
  );
  // What was replaced was made under a temporary name.
  for (const [, from = '', to = ''] of log.matchAll(/renameat2?\(.*?, "(.*?)", .*?, "(.*?)"/g)) {
    finalModes.set(from, finalModes.get(to) ?? 0);
  }
  const made =
    /(?:openat\([^"]*"(.*?)", [A-Z_|]*O_CREAT[A-Z_|]*, (0\d*)|(?:mkdirat|mknodat)\([^"]*"(.*?)", (?:S_\w+\|)?(0\d*)|fchmod\(\d+<(.*?)>, (0\d*)\))/;
  let seen = 0;
  const found = log.split('\n').filter((line) => {
    const parts = made.exec(line)?.slice(1).filter(Boolean);
    if (!parts || !line.includes(dest)) return false;
    const [path = '', mode = ''] = parts;
    const final = finalModes.get(basename(path));
    seen++;
    return final === undefined || (Number.parseInt(mode, 8) & ~final) !== 0;
  });
  expect(seen).toBeGreaterThan(10);
  return found;
}

test('open to nobody else before it has its owner', async (context) => {
  needRoot(context);
  const src = join(work, 'of others');
  for (const mode of [0o644, 0o666, 0o750]) makeFile(join(src, `${mode}`), mode, USER);
  const dest = join(freshParent(), 'dest');
  const modes = `${dest} modes`;
  const words = withFaults({
    shim: buildShim(work),
    root: dest,
    log: `${dest} log`,
    faults: 'fchownat:run:1:99:/dest/',
    script: `stat -c %a "$1" >> "${modes}"`,
  });
  for (const options of [{ preserve: true }, { preserve: true, reflink: 'never' }] as const) {
    const { error } = await copyInChild({ src, dest, umask: 0, options }, words);
    expect(error).toBeUndefined();
    expect(readFileSync(modes, 'utf8').trim().split('\n').sort()).toEqual(['600', '600', '700']);
    expect(differences(src, dest)).toEqual([]);
    for (const path of [dest, modes]) rmSync(path, { recursive: true });
  }
});

test('open to nobody else before it has its access list', async (context) => {
  for (const tool of ['strace', 'setfacl']) needTool(context, tool);
  const src = makeFiles(join(work, 'with a list'), { file: '' });
  chmodSync(join(src, 'file'), 0o644);
  execFileSync('setfacl', ['-m', `u:${USER}:---`, join(src, 'file')]);
  const dest = join(freshParent(), 'dest');
  const log = `${dest} log`;
  const words = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=openat'];
  const { error } = await copyInChild({ src, dest, umask: 0, options: { preserve: true } }, words);
  expect(error).toBeUndefined();
  const created = readFileSync(log, 'utf8').matchAll(/"file", .*O_CREAT.*, (0[0-7]+)\)/g);
  expect([...created].map(([, mode]) => mode)).toEqual(['0600']);
});

test.for<[what: string, group: number, directoryMode: number, destGroup: number, destMode: number]>(
  [
    ['sets the group of its directory', 0, 0o2775, 0, 0o755],
    ['takes setgid from its directory', USER, 0o755, USER, 0o2775],
  ],
)(
  'open to nobody else where another copy might have done it: it %s',
  async ([, group, directoryMode, destGroup, destMode], context) => {
    needRoot(context);
    needTool(context, 'strace');
    const parent = freshParent();
    const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
    // What is learned from the group of one file must not hold for another one.
    for (let i = 0; i < 20; i++)
      makeFile(join(src, 'directory', `${i}`), 0o644, 0, i % 2 ? group : 1234);
    const directory = join(src, 'directory');
    chownSync(directory, 0, USER);
    chmodSync(directory, directoryMode);
    mkdirSync(dest);
    chownSync(dest, 0, destGroup);
    chmodSync(dest, destMode);
    const log = `${dest} log`;
    const words = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=openat'];
    const options = { preserve: true, concurrency: 1 };
    const { error } = await copyInChild({ src, dest, options }, words);
    expect(error).toBeUndefined();
    const created = readFileSync(log, 'utf8').matchAll(
      /"\d+", .*O_CREAT.*, (0[0-7]+)(?:\)| <unfinished)/g,
    );
    expect([...created].map(([, mode]) => mode)).toEqual(Array.from({ length: 20 }, () => '0600'));
  },
);

describe('setuid and setgid go only to the same owner', () => {
  const other = USER;
  test.for([
    // mode, owner and group of the source; the mode of root's copy
    ['4755', other, other, '755'],
    ['2755', other, other, '755'],
    ['6755', other, other, '755'],
    ['4755', 0, 0, '4755'],
    ['6711', 0, 0, '6711'],
    ['6755', 0, other, '4755'],
    ['6755', other, 0, '2755'],
    ['2750', 0, 0, '2750'],
    ['7777', other, other, '1777'],
  ] as const)('%s of %i:%i', async ([text, uid, gid, copied], context) => {
    needRoot(context);
    const mode = Number.parseInt(text, 8);
    const src = join(work, `owned ${text} ${uid} ${gid}`);
    makeFile(join(src, 'file'), mode, uid, gid);
    mkdirSync(join(src, 'directory'));
    chownSync(join(src, 'directory'), uid, gid);
    chmodSync(join(src, 'directory'), mode);
    for (const reflink of ['auto', 'never'] as const) {
      const dest = join(freshParent(), 'dest');
      await copyTree(src, dest, { reflink });
      expect([modeOf(join(dest, 'file')), modeOf(join(dest, 'directory'))]).toEqual([
        copied,
        copied,
      ]);
      await copyTree(src, dest); // replaces the file
      expect([modeOf(join(dest, 'file')), modeOf(join(dest, 'directory'))]).toEqual([
        copied,
        copied,
      ]);
    }
  });

  test("a user's copy of root's", async (context) => {
    needRoot(context);
    needUser(context);
    const src = join(work, 'of root');
    makeFile(join(src, 'file'), 0o6755, 0, 0);
    const dest = join(freshParent(), 'dest');
    const { error } = await copyInChild({ src, dest }, asUser);
    expect(error).toBeUndefined();
    expect(modeOf(join(dest, 'file'))).toBe('755');
  });
});

describe('what is there', () => {
  test('a directory keeps its mode, a replaced file takes the source’s', async () => {
    const src = join(work, 'merged');
    makeFile(join(src, 'directory/file'), 0o640);
    chmodSync(join(src, 'directory'), 0o755);
    const dest = freshParent();
    makeFile(join(dest, 'directory/file'), 0o666);
    chmodSync(join(dest, 'directory'), 0o711);
    await copyTree(src, dest);
    expect(modeOf(dest)).toBe('777');
    expect(modeOf(join(dest, 'directory'))).toBe('711');
    expect(modeOf(join(dest, 'directory/file'))).toBe('640');
  });

  test.for(['755', '2755'])('a directory of mode %s gets an ACL', async (mode, context) => {
    needTool(context, 'setfacl');
    const parent = freshParent();
    const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
    for (const path of [src, dest]) mkdirSync(path);
    execFileSync('setfacl', ['-m', 'u:1234:rx', src]);
    chmodSync(dest, mode);
    await copyTree(src, dest, { preserve: ['mode', 'xattrs'] });
    expect(modeOf(dest)).toBe(mode);
  });

  test('setgid directories pass on their group in every run, as with cp', async (context) => {
    needRoot(context);
    const parent = freshParent();
    const [src, ours, cps] = [join(parent, 'src'), join(parent, 'ours'), join(parent, 'cps')];
    const add = (name: string): void => {
      for (const mode of [0o600, 0o755, 0o777]) {
        makeFile(join(src, `${mode}/${name}/file`), mode);
        for (const path of [`${mode}`, `${mode}/${name}`]) chmodSync(join(src, path), mode);
      }
    };
    const owners = (root: string): string =>
      execFileSync('find', [root, '-printf', '%P %m %u %g\n'], { encoding: 'utf8' });
    const sorted = (root: string): string[] => owners(root).split('\n').toSorted();
    for (const path of [ours, cps]) {
      mkdirSync(path);
      chownSync(path, 0, USER);
      chmodSync(path, 0o2777);
    }
    const runs: CopyOptions[] = [{}, {}, { sync: true }, { mirror: true }, { atomic: true }];
    for (const [index, options] of runs.entries()) {
      add(`new ${index}`);
      execFileSync('sh', ['-c', 'umask 0; cp -rT "$0" "$1"', src, join(cps, 'dest')]);
      await copyTree(src, join(ours, 'dest'), options);
      expect(sorted(ours), JSON.stringify(options)).toEqual(sorted(cps));
    }
    const compared = await compareTrees(src, join(ours, 'dest'));
    expect(compared.differences).toEqual([]);
    const all = await compareTrees(src, join(ours, 'dest'), { preserve: ['mode', 'ownership'] });
    expect(all.differences.length).toBeGreaterThan(0);
    await copyTree(src, join(ours, 'dest'), { mirror: true, preserve: true });
    expect(differences(src, join(ours, 'dest'))).toEqual([]);
  });

  const withGroup: CopyOptions[] = [
    {},
    { sync: true },
    { preserve: true },
    { preserve: true, mirror: true },
    { preserve: ['mode', 'xattrs'] },
  ];
  test.for(withGroup)(
    'setgid directories of a user who may not set owners: %j',
    { tags: ['all'] },
    async (options, context) => {
      needRoot(context);
      needUser(context);
      const parent = freshParent();
      const [src, team] = [join(parent, 'src'), join(parent, 'team')];
      for (const mode of [0o600, 0o640, 0o775])
        makeFile(join(src, `${mode}/file`), mode | 0o044, 0, 0);
      mkdirSync(team);
      chownSync(team, 0, USER - 1);
      chmodSync(team, 0o2777);
      const member = [
        'setpriv',
        `--reuid=${USER}`,
        `--regid=${USER}`,
        `--groups=${USER},${USER - 1}`,
      ];
      for (const run of [1, 2]) {
        makeFile(join(src, `new in ${run}/file`), 0o644, 0, 0);
        await copyInChild({ src, dest: join(team, 'dest'), options }, member);
        const found = execFileSync('find', [team, '-printf', '%P %y %M %G\n'], {
          encoding: 'utf8',
        });
        const lines = found.split('\n').filter(Boolean);
        expect(lines.length).toBe(2 + 2 * (3 + run));
        const isRight = new RegExp(` (d d.....s...|f -.........) ${USER - 1}$`);
        expect(lines.filter((line) => !isRight.test(line))).toEqual([]);
      }
    },
  );

  test.for<[string, number, CopyOptions, string]>([
    ['with access', 0o2770, { sync: true }, '755'],
    ['opened up', 0o2555, { sync: true }, '755'],
    ['opened up, in a mirror', 0o2555, { mirror: true }, '755'],
    ['opened up for a moment', 0o2555, { sync: true, preserve: false }, '555'],
  ])(
    'a setgid directory of a user outside its group loses setgid, which is told: %s',
    async ([, mode, options, wanted], context) => {
      needRoot(context);
      needUser(context);
      const parent = freshParent();
      const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
      for (const path of [src, dest]) mkdirSync(path);
      makeFile(join(src, 'file'), 0o644);
      chmodSync(src, 0o755);
      for (const strict of [false, true]) {
        rmSync(join(dest, 'file'), { force: true });
        chownSync(dest, USER, USER - 1);
        chmodSync(dest, mode);
        const how = { ...options, strict };
        const { error, result } = await copyInChild({ src, dest, options: how }, asUser);
        const told = { code: 'MODE_NOT_PRESERVED', message: expect.stringContaining('EPERM') };
        expect(result.warnings).toMatchObject(strict ? [] : [told]);
        expect(error).toEqual(
          strict
            ? expect.objectContaining({ code: 'EPERM', syscall: 'fchmod', path: src })
            : undefined,
        );
        // After an error a directory that was opened up has its old mode.
        expect(modeOf(dest)).toBe(strict && mode === 0o2555 ? '555' : wanted);
      }
    },
  );
});

test('a setgid directory of a user outside its group that a mirror cannot remove: its lost setgid is told', async (context) => {
  needRoot(context);
  needUser(context);
  const parent = freshParent();
  const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
  makeFiles(src, { file: 'x' });
  const gone = join(dest, 'gone');
  for (const strict of [false, true]) {
    makeFiles(gone, { kept: 'x', extra: 'x' });
    for (const path of [dest, join(dest, 'file')]) {
      if (existsSync(path)) chownSync(path, USER, USER);
    }
    chownSync(gone, USER, USER - 1);
    chmodSync(gone, 0o2555);
    const options: CopyOptions = { mirror: true, exclude: 'kept', strict };
    const { error, result } = await copyInChild({ src, dest, options }, asUser);
    const told = { code: 'MODE_NOT_PRESERVED', path: gone };
    expect(result.warnings).toMatchObject(strict ? [] : [told]);
    expect(error?.code).toBe(strict ? 'EPERM' : undefined);
    expect(readdirSync(gone)).toEqual(['kept']);
    expect(modeOf(gone)).toBe('555');
  }
  makeFiles(gone, { extra: 'x' });
  chmodSync(gone, 0o2555);
  const command = [process.execPath, COMMAND, '--mirror', '--strict', '--exclude=kept', src, dest];
  const { stderr } = await run([...asUser, ...command]);
  expect(stderr).toContain(`cannot set the mode of '${gone}': operation not permitted\n`);
});

describe('a copy that is killed leaves each directory that has an entry with its mode', () => {
  const tree = join(work, 'killed');
  const modes = [0o755, 0o775, 0o700, 0o555, 0o1777, 0o2750];
  beforeAll(() => {
    for (let i = 0; i < 300; i++)
      makeFiles(tree, { [`${i % 7}/${i}/a`]: 'a', [`${i % 7}/${i}/b`]: 'b' });
    const directories = execFileSync('find', [tree, '-type', 'd'], { encoding: 'utf8' }).trim();
    for (const [i, path] of directories.split('\n').entries())
      chmodSync(path, modes[i % modes.length] ?? 0);
  });

  test.for<[string, string[], string]>([
    ['the command', [], '022'],
    ['-p', ['-p'], '077'],
    ['-a', ['-a'], '022'],
    ['-a under a default ACL', ['-a'], '022'],
    ['the library', ['library'], '022'],
  ])('%s', async ([name, words, umask], context) => {
    needTool(context, 'setfacl');
    const parent = freshParent();
    if (name.includes('ACL')) execFileSync('setfacl', ['-d', '-m', 'u:1234:rwx', parent]);
    const script = 'require(process.argv[1]).copyTree(...process.argv.slice(2))';
    for (let i = 0; i < size(8, 40); i++) {
      const dest = join(parent, `dest ${i}`);
      const command = name.includes('library') ? ['-e', script, CHILD] : [COMMAND, '-T', ...words];
      const child = spawn(
        'sh',
        ['-c', `umask ${umask}; exec "$@"`, 'sh', process.execPath, ...command, tree, dest],
        { stdio: 'ignore' },
      );
      const ended = once(child, 'exit');
      while (!existsSync(dest) && child.exitCode === null) await setTimeout(1);
      await setTimeout((2 * i) % 15);
      child.kill('SIGKILL');
      await ended;
      const found = execFileSync('find', [dest, '-type', 'd', '-not', '-empty'], {
        encoding: 'utf8',
      });
      for (const full of found.split('\n').filter(Boolean)) {
        const path = relative(dest, full);
        // The owner's permissions and setgid may come at the end.
        const [is, was] = [join(dest, path), join(tree, path)].map(
          (at) => (lstatSync(at).mode & 0o1777) | 0o700,
        );
        expect({ path, mode: is }).toEqual({ path, mode: was });
      }
      await run(['chmod', '-R', 'u+rwX', dest]);
    }
  });
});

test.for<[string, CopyOptions, string]>([
  ['owners, which SRC has without setgid', { preserve: true }, '755'],
  ['no owners', {}, '2755'],
])('a new directory in one with setgid, with %s', async ([, options, mode], context) => {
  needRoot(context);
  const parent = freshParent();
  const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
  makeFiles(src, { 'a/b/file': 'x' });
  execFileSync('chown', ['-R', `0:${USER}`, src]);
  mkdirSync(dest);
  chownSync(dest, 0, USER);
  chmodSync(dest, 0o2775);
  await copyTree(src, dest, options);
  expect(['a', 'a/b'].map((path) => modeOf(join(dest, path)))).toEqual([mode, mode]);
});

test.for(['777', '300', '022'])(
  'a new directory of a user outside the group that it inherits, with umask %s: setgid stays, or its loss is told',
  async (umask, context) => {
    needRoot(context);
    needUser(context);
    const parent = freshParent();
    const [src, dest] = [join(parent, 'src'), join(parent, 'dest')];
    makeFiles(src, { 'directory/file': 'x' });
    for (const path of [src, join(src, 'directory')]) chownSync(path, USER, USER);
    for (const path of [src, join(src, 'directory')]) chmodSync(path, 0o700);
    makeFile(join(src, 'directory/file'), 0o600, USER);
    chownSync(parent, 0, USER - 1);
    chmodSync(parent, 0o2777);
    for (const preserve of [['mode'], []] satisfies PreserveKind[][]) {
      rmSync(dest, { recursive: true, force: true });
      const request = { src, dest, umask: Number.parseInt(umask, 8), options: { preserve } };
      const { result } = await copyInChild(request, asUser);
      const keeps = [dest, join(dest, 'directory')].every((path) => /^2/.test(modeOf(path)));
      expect({ preserve, keeps }).toEqual({ preserve, keeps: umask === '022' });
      expect(result.warnings.map(({ code }) => code)).toEqual(keeps ? [] : ['MODE_NOT_PRESERVED']);
      chmodSync(dest, 0o700);
    }
  },
);

test('read-only directories of an ordinary user', async (context: TestContext) => {
  needUser(context);
  const src = join(work, 'read only');
  makeFile(join(src, 'a/b/c/file'), 0o444, USER);
  for (const directory of ['a/b/c', 'a/b', 'a', '.']) {
    if (isRoot) chownSync(join(src, directory), USER, USER);
    chmodSync(join(src, directory), 0o555);
  }
  const dest = join(freshParent(), 'dest');
  const { error, result } = await copyInChild({ src, dest }, asUser);
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ files: 1, directories: 4 });
  expect(differences(src, dest)).toEqual([]);
});
