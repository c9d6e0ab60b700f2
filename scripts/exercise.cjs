// Copies in all main ways and looks at what came of it, where the test runner does not run: under emulators and
// other runtimes. The package has to be built, and PREBUILDS_ONLY=1 takes the binary that is shipped.
//
//   PREBUILDS_ONLY=1 [EXERCISE_HOST='HOST'] HOST scripts/exercise.cjs [DIRECTORY]
//
// EXERCISE_HOST: where HOST is more than one word, what the command is to be run by.
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');
const { compareTrees, copyTree } = require('../dist/index.cjs');
const { cp, cpSync } = require('../dist/fs.cjs');

const isWindows = process.platform === 'win32';
const MiB = 1024 * 1024;

// Names are bytes, but on Windows.
const encoding = isWindows ? 'utf8' : 'latin1';

/** What a tree is: each entry's kind, mode, content or text. */
function picture(root, directory = '') {
  const found = {};
  const bytes = (name) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, encoding)]);
  for (const name of fs.readdirSync(bytes(directory), encoding).sort()) {
    const inside = path.join(directory, name);
    const at = bytes(inside);
    const stat = fs.lstatSync(at);
    found[inside] = `${what(at, stat)} ${isWindows ? '' : stat.mode.toString(8)}`;
    if (stat.isDirectory()) Object.assign(found, picture(root, inside));
  }
  return found;
}

function what(at, stat) {
  if (stat.isSymbolicLink()) return fs.readlinkSync(at);
  if (stat.isFile()) return `${stat.size} ${hash(fs.readFileSync(at))}`;
  return stat.isFIFO() ? 'fifo' : 'directory';
}

function hash(bytes) {
  return require('node:crypto').createHash('sha1').update(bytes).digest('hex');
}

function plant(root) {
  for (let f = 0; f < 20; f++) {
    const directory = path.join(root, `directory ${f}`, 'ünïcödé', 'deep/er');
    fs.mkdirSync(directory, { recursive: true });
    for (let i = 0; i < 25; i++)
      fs.writeFileSync(path.join(directory, `${i}.txt`), 'x'.repeat(i * 997));
  }
  fs.writeFileSync(path.join(root, 'large'), Buffer.alloc(70 * MiB, 'large'));
  fs.writeFileSync(path.join(root, 'empty'), '');
  fs.writeFileSync(path.join(root, '.gitignore'), '*.txt\n!7.txt\n');
  fs.linkSync(path.join(root, 'empty'), path.join(root, 'hard'));
  if (isWindows) return;
  fs.writeFileSync(path.join(root, 'script'), '#!', { mode: 0o751 });
  const bytes = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]);
  if (process.platform !== 'darwin') fs.writeFileSync(bytes, 'bytes'); // APFS has none
  fs.symlinkSync('nowhere', path.join(root, 'link'));
  fs.mkdirSync(path.join(root, 'read only'), { mode: 0o555 });
  execFileSync('mkfifo', [path.join(root, 'fifo')]);
  const sparse = fs.openSync(path.join(root, 'sparse'), 'w');
  fs.writeSync(sparse, 'end', 8 * MiB);
  fs.closeSync(sparse);
}

const exercises = {
  async 'a tree, and its counters'({ src, dest, whole }) {
    const result = await copyTree(src, dest);
    assert.deepStrictEqual(picture(dest), whole);
    assert.strictEqual(
      result.files,
      Object.values(whole).filter((what) => /^\d/.test(what)).length,
    );
    const { clone, copyFileRange, readWrite } = result.methods;
    assert.strictEqual(clone + copyFileRange + readWrite, result.files);
  },
  async 'over what is there, and again'({ src, dest, whole }) {
    fs.mkdirSync(dest);
    fs.writeFileSync(path.join(dest, 'large'), 'old');
    await copyTree(src, dest);
    const again = await copyTree(src, dest, { sync: true, preserve: true });
    assert.deepStrictEqual(picture(dest), whole);
    assert.strictEqual((await copyTree(src, dest, { sync: true, preserve: true })).files, 0);
    assert.strictEqual(again.errors.length, 0);
  },
  async 'without clones, with verification'({ src, dest, whole }) {
    const result = await copyTree(src, dest, { reflink: 'never', verify: true, fsync: true });
    assert.deepStrictEqual(picture(dest), whole);
    assert.strictEqual(result.methods.clone + result.methods.copyFileRange, 0);
  },
  async 'an archive'({ src, dest }) {
    const old = path.join(src, 'empty');
    fs.utimesSync(old, 1e9, 1e9);
    await copyTree(src, dest, { preserve: true });
    const [one, other] = ['empty', 'hard'].map((name) => fs.statSync(path.join(dest, name)));
    assert.strictEqual(one.mtimeMs, 1e12);
    assert.strictEqual(one.ino, other.ino);
  },
  async 'rules and a filter'({ src, dest }) {
    const filter = async (_src, _dest, entry) =>
      entry.kind !== 'directory' || !entry.path.includes('directory 3');
    await copyTree(src, dest, { gitignore: true, filter });
    const names = Object.keys(picture(dest)).filter((name) => name.endsWith('.txt'));
    assert.strictEqual(names.length, 19);
    assert.ok(names.every((name) => path.basename(name) === '7.txt'));
  },
  async 'a mirror'({ src, dest, whole }) {
    fs.mkdirSync(path.join(dest, 'extra/deep'), { recursive: true });
    fs.writeFileSync(path.join(dest, 'extra/deep/file'), 'goes');
    const { deleted } = await copyTree(src, dest, { mirror: true });
    assert.deepStrictEqual(picture(dest), whole);
    assert.ok(deleted >= 1);
    assert.deepStrictEqual((await compareTrees(src, dest)).differences, []);
  },
  async 'the whole in one step'({ src, dest, whole }) {
    fs.mkdirSync(dest);
    fs.writeFileSync(path.join(dest, 'old'), 'goes');
    await copyTree(src, dest, { atomic: 'two-step' });
    assert.deepStrictEqual(picture(dest), whole);
  },
  async 'Node’s own functions'({ src, dest, whole }) {
    const options = { recursive: true, verbatimSymlinks: true };
    fs.rmSync(path.join(src, 'fifo'), { force: true });
    const expected = { ...whole };
    delete expected.fifo;
    cpSync(src, dest, options);
    assert.deepStrictEqual(picture(dest), expected);
    await new Promise((resolve, reject) => {
      cp(src, `${dest} 2`, options, (error) => (error ? reject(error) : resolve()));
    });
    assert.deepStrictEqual(picture(`${dest} 2`), expected);
  },
  async errors({ src, dest }) {
    const code = (promise) =>
      promise.then(
        () => 'none',
        (error) => error.code,
      );
    assert.strictEqual(await code(copyTree(path.join(src, 'missing'), dest)), 'ENOENT');
    assert.strictEqual(await code(copyTree(src, path.join(src, 'in it'))), 'ERR_FS_CP_EINVAL');
    fs.mkdirSync(path.join(dest, 'large'), { recursive: true });
    const { errors } = await copyTree(src, dest, { onError: 'continue' }).catch(
      (error) => error.result,
    );
    assert.deepStrictEqual(
      errors.map((error) => error.code),
      ['ERR_FS_CP_NON_DIR_TO_DIR'],
    );
  },
  async 'an abort'({ src, dest }) {
    const controller = new AbortController();
    const job = copyTree(src, dest, { signal: controller.signal, reflink: 'never' });
    setTimeout(() => controller.abort(), 5);
    const reason = await job.then(
      () => 'none',
      (error) => error.name,
    );
    assert.strictEqual(reason, 'AbortError');
  },
  async 'a worker thread, and its end'({ src, dest, whole }) {
    const start = (to) => new Worker(__filename, { workerData: { src, dest: to } });
    const done = start(dest);
    await new Promise((resolve, reject) => done.once('message', resolve).once('error', reject));
    assert.deepStrictEqual(picture(dest), whole);
    const ended = start(`${dest} 2`);
    await new Promise((resolve) => ended.once('online', resolve));
    await ended.terminate();
  },
  async 'the command'({ src, dest, whole }) {
    const bin = path.join(__dirname, '../dist/fastcp.cjs');
    const host = process.env.EXERCISE_HOST?.split(' ') ?? [process.execPath];
    execFileSync(host[0], [...host.slice(1), bin, src, dest]);
    assert.deepStrictEqual(picture(dest), whole);
  },
};

async function main() {
  const work = fs.mkdtempSync(path.join(process.argv[2] ?? os.tmpdir(), 'fastcp-exercise-'));
  let failed = 0;
  try {
    for (const [index, [name, exercise]] of Object.entries(exercises).entries()) {
      const [src, dest] = ['src', 'dest'].map((end) => path.join(work, `${index} ${end}`));
      fs.mkdirSync(src);
      plant(src);
      try {
        await exercise({ src, dest, whole: picture(src) });
        console.log(`ok      ${name}`);
      } catch (error) {
        failed++;
        console.log(`FAILED  ${name}: ${error.stack}`);
      }
      for (const end of [src, dest, `${dest} 2`]) fs.rmSync(end, { recursive: true, force: true });
    }
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
  const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.version}`;
  const count = Object.keys(exercises).length;
  const loaded = Object.keys(require.cache).find((file) => file.endsWith('.node'));
  const binary = loaded && path.relative(path.join(__dirname, '..'), loaded);
  console.log(`${runtime}, ${binary}: ${count - failed} of ${count}`);
  process.exitCode = failed ? 1 : 0;
}

async function inWorker() {
  await copyTree(workerData.src, workerData.dest);
  parentPort.postMessage('done');
}

void (isMainThread ? main() : inWorker());
