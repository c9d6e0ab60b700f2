// What each project does with fastcp. Its checks need no test runner: exercise(fastcp, 'fastcp/fs', DIRECTORY) makes a tree in
// DIRECTORY, copies it in the main ways, and writes what failed, or that nothing did, into DIRECTORY/exercised.json.
// Modules come from Node itself, because a project may have replaced them.
const assert = process.getBuiltinModule('node:assert');
const { execFileSync } = process.getBuiltinModule('node:child_process');
const fs = process.getBuiltinModule('node:fs');
const path = process.getBuiltinModule('node:path');
const { pathToFileURL } = require('node:url'); // a test runner's own, if it has one

const checks = {
  async 'a tree'({ copyTree }, _, { src, dest }) {
    const { files, warnings } = await copyTree(src, dest);
    assert.equal(files, 6);
    assert.equal(warnings.length, 0);
  },
  async "git's rules"({ copyTree }, _, { src, dest }) {
    const { warnings } = await copyTree(src, dest, { gitignore: true, exclude: ['*.none'] });
    assert.deepEqual(Array.from(warnings), []);
    assert.ok(fs.existsSync(path.join(dest, 'tracked.log')), 'a tracked file is missing');
    assert.ok(!fs.existsSync(path.join(dest, 'other.log')), 'an ignored file was copied');
  },
  async 'a filter and globs'({ copyTree }, _, { src, dest }) {
    const filter = async (from) => {
      for (const began = process.cpuUsage().user; process.cpuUsage().user < began + 5000; ); // so the event loop needs a turn
      return !from.endsWith('b.txt');
    };
    const { files } = await copyTree(src, dest, { include: ['**/*.txt'], filter });
    assert.equal(files, 1);
  },
  async events({ copyTree }, _, { src, dest }) {
    const paths = [];
    for await (const event of copyTree(src, dest, { entries: true }))
      if (event.type === 'entry') paths.push(event.path);
    assert.ok(paths.some((one) => one.endsWith('b.txt')));
  },
  async progress({ copyTree }, _, { src, dest }) {
    let last;
    const onProgress = (progress) => {
      last = progress;
    };
    await copyTree(src, dest, { onProgress });
    assert.equal(last.files, 6);
  },
  async 'an atomic replacement'({ copyTree }, _, { src, dest }) {
    await copyTree(src, dest);
    await copyTree(src, dest, { atomic: true });
    assert.ok(fs.existsSync(path.join(dest, 'deep/b.txt')));
  },
  async 'a comparison'({ copyTree, compareTrees }, _, { src, dest }) {
    await copyTree(src, dest);
    const { differences } = await compareTrees(src, dest);
    assert.equal(differences.length, 0);
  },
  async doctor({ doctor }, _, { src }) {
    const { directories } = await doctor(src);
    assert.equal(directories.length, 1);
  },
  async 'a callback'(_, { cp }, { src, dest }) {
    await new Promise((resolve, reject) => {
      cp(src, dest, { recursive: true }, (error) => (error ? reject(error) : resolve()));
    });
    assert.ok(fs.existsSync(path.join(dest, 'deep/b.txt')));
  },
  async 'a missing source'({ copyTree, CopyError }, _, { src, dest }) {
    const error = await copyTree(`${src}/none`, dest).catch((thrown) => thrown);
    assert.equal(error.code, 'ENOENT');
    assert.ok(error instanceof CopyError, 'it is no CopyError');
    assert.equal(error.result?.errorCount, 1);
  },
  async 'errors that are collected'({ copyTree }, _, { src, dest }) {
    const options = { onError: 'continue' };
    const { errors } = await copyTree([`${src}/none`, `${src}/deep`], `${dest}/`, options);
    assert.equal(errors.length, 1);
    assert.ok(fs.existsSync(path.join(dest, 'deep/b.txt')));
  },
  async 'URLs and bytes'({ copyTree }, { promises }, { src, dest }) {
    await copyTree(pathToFileURL(src), Uint8Array.from(Buffer.from(dest)));
    await promises.cp(pathToFileURL(src), pathToFileURL(`${dest}/again`), { recursive: true });
    assert.ok(fs.existsSync(path.join(dest, 'again/deep/b.txt')));
  },
  async 'a signal'({ copyTree }, _, { src, dest }) {
    const controller = new AbortController();
    const { signal } = controller;
    await copyTree(src, dest, { signal, gitignore: true });
    controller.abort();
    const error = await copyTree(src, dest, { signal }).catch((thrown) => thrown);
    assert.equal(error.name, 'AbortError');
  },
};

module.exports = async function exercise(fastcp, fastcpFs, directory, names = Object.keys(checks)) {
  const failed = [];
  for (const name of names) {
    const at = path.join(directory, name.replaceAll(' ', '-'));
    const [src, dest] = [path.join(at, 'src'), path.join(at, 'dest')];
    plant(src, /git|signal/.test(name));
    // The next one is tried even if this one hangs or fails: the file then has its name.
    record(directory, [...failed, `${name}: it never ended`]);
    try {
      await checks[name](fastcp, fastcpFs, { src, dest });
    } catch (error) {
      failed.push(`${name}: ${String(error?.message ?? error).split('\n')[0]}`);
    }
  }
  record(directory, failed);
  if (failed.length > 0) throw new Error(failed.join('; '));
};

function record(directory, failed) {
  fs.writeFileSync(path.join(directory, 'exercised.json'), JSON.stringify(failed));
}

/** Four files with rules; if it `isRepository`, with a tracked file that a rule matches. */
function plant(src, isRepository) {
  fs.mkdirSync(path.join(src, 'deep'), { recursive: true });
  for (const file of ['a.txt', 'deep/b.txt', 'tracked.log', 'other.log'])
    fs.writeFileSync(path.join(src, file), file);
  fs.writeFileSync(path.join(src, '.gitignore'), '*.log\n');
  fs.writeFileSync(path.join(src, 'deep/.gitignore'), '*.none\n');
  if (!isRepository) return;
  const git = (...args) => execFileSync('git', ['-C', path.dirname(src), ...args]);
  git('init', '--quiet');
  git('add', '--force', 'src/tracked.log');
}
