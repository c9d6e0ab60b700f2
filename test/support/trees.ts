import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDarwinModel, isPortable, isRoot, needToolHere } from './work.js';

const KiB = 1024;
const MiB = 1024 * KiB;

export interface ZooSettings {
  /** For a user, who cannot make devices nor read everything. */
  owner?: number;
  device?: boolean;
  wide?: number;
}

/** One of everything that a tree can hold. */
export function makeZoo(root: string, { owner, device, wide = 3000 }: ZooSettings = {}): string {
  mkdirSync(root);
  makeFiles(root, {
    'a file': 'small',
    empty: '',
    'middling/300 KiB': randomBytes(300 * KiB),
    'one/two/three/four/five': 'nested',
    [`long names/${'n'.repeat(255)}`]: 'as long as a name can be',
    [`long names/${'é'.repeat(127)}`]: 'as long in bytes',
    '-rf': 'a leading dash',
    'line\nbreak\t and  spaces ': 'x',
    '.hidden/.file': 'y',
    'hard links/one': 'has two names',
  });
  mkdirSync(join(root, 'empty directory/also empty'), { recursive: true });
  linkSync(join(root, 'hard links/one'), join(root, 'hard links/two'));
  makeSparse(root);
  makeLinks(root);
  if (process.platform !== 'darwin') {
    // APFS has none.
    const bytes = Buffer.concat([Buffer.from(`${root}/not `), Buffer.from([0xff, 0xfe, 0x80])]);
    mkdirSync(bytes);
    writeFileSync(Buffer.concat([bytes, Buffer.from([0x2f, 0xc3])]), 'not UTF-8');
  }
  mkdirSync(join(root, 'wide'));
  for (let i = 0; i < wide; i++) writeFileSync(join(root, 'wide', `${i}`), `${i}`);

  // macOS's code copies none, and they take root.
  makeSpecial(root, device ?? (owner === undefined && !isDarwinModel && !isPortable));
  if (owner !== undefined && isRoot) execFileSync('chown', ['-Rh', `${owner}:${owner}`, root]);
  makeModes(root, owner);
  return root;
}

/** Makes files by their paths, and their directories. */
export function makeFiles(root: string, files: Record<string, string | Buffer>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

/** Of `size` bytes, with 64 KiB of data at each of the offsets and holes elsewhere. */
export function makeSparseFile(path: string, size: number, data: number[]): void {
  const file = openSync(path, 'w');
  const content = randomBytes(64 * KiB);
  for (const at of data) writeSync(file, content, 0, content.length, at);
  ftruncateSync(file, size);
  closeSync(file);
}

function makeSparse(root: string): void {
  const at = (name: string): string => join(root, 'sparse', name);
  mkdirSync(at(''));
  makeSparseFile(at('start'), 4 * MiB, [4 * MiB - 64 * KiB]);
  makeSparseFile(at('middle'), 4 * MiB, [0, 4 * MiB - 64 * KiB]);
  makeSparseFile(at('end'), 4 * MiB + 1, [0]);
  makeSparseFile(at('all'), 8 * MiB, []);
  makeSparseFile(
    at('many'),
    8 * MiB,
    [1, 3, 5, 7].map((n) => n * MiB),
  );
  // Large enough to be copied in parts; data lies within parts and across their borders.
  makeSparseFile(at('large'), 97 * MiB + 3, [0, 32 * MiB - 32 * KiB, 70 * MiB, 96 * MiB]);
  makeSparseFile(at('large hole'), 70 * MiB, []);
  writeFileSync(at('large data'), randomBytes(65 * MiB));
}

function makeLinks(root: string): void {
  const link = (target: string | Buffer, name: string): void =>
    symlinkSync(target, join(root, 'links', name));
  mkdirSync(join(root, 'links'));
  link('../a file', 'relative');
  link('/etc/hostname', 'absolute');
  link('nowhere/to be found', 'dangling');
  link('../one', 'to a directory');
  link('..', 'up');
  link('itself', 'itself');
  link(`${'../'.repeat(340)}x`, 'long'); // XFS takes up to 1,023 bytes
  link(Buffer.from([0xff, 0x20, 0xfe]), 'not UTF-8');
}

/** Node removes the sockets of its servers, but not if it is killed. */
const listen =
  'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))';

/** The same as makeSocket(), for a shell. */
export const makeSocketCommand = (name: string): string =>
  `{ "${process.execPath}" -e '${listen}' ${name}; } 2>/dev/null || chmod 600 ${name}`;

/** Makes a socket that nobody listens on. */
export function makeSocket(path: string, mode = 0o600): void {
  // By its name alone, since the path of a socket has at most 107 bytes.
  spawnSync(process.execPath, ['-e', listen, basename(path)], { cwd: dirname(path) });
  chmodSync(path, mode);
}

function makeSpecial(root: string, device: boolean): void {
  const at = join(root, 'special');
  mkdirSync(at);
  execFileSync('mkfifo', [join(at, 'fifo')]);
  chmodSync(join(at, 'fifo'), 0o620);
  makeSocket(join(at, 'socket'), 0o644);
  if (!device) return;
  execFileSync('mknod', ['-m', '666', join(at, 'null'), 'c', '1', '3']);
  execFileSync('mknod', ['-m', '660', join(at, 'block'), 'b', '7', '200']);
}

const fileModes = [0o000, 0o200, 0o111, 0o400, 0o444, 0o555, 0o600, 0o640, 0o755, 0o777];
const directoryModes = [0o000, 0o300, 0o500, 0o555, 0o700, 0o711, 0o755, 0o775, 0o777];
const specialModes = [0o1777, 0o2755, 0o4755, 0o6711, 0o2644, 0o7777];

/** Last, because a change of the owner clears bits. A user's are all readable for them. */
function makeModes(root: string, owner: number | undefined): void {
  const all = join(root, 'modes');
  mkdirSync(all);
  for (const mode of [...fileModes, ...specialModes]) {
    if (owner !== undefined && !(mode & 0o400)) continue;
    const path = join(all, `file ${mode.toString(8)}`);
    writeFileSync(path, 'f');
    settle(path, mode, owner);
  }
  for (const mode of [...directoryModes, ...specialModes]) {
    if (owner !== undefined && (mode & 0o500) !== 0o500) continue;
    const path = join(all, `directory ${mode.toString(8)}`);
    mkdirSync(join(path, 'directory'), { recursive: true });
    writeFileSync(join(path, 'file'), 'in it');
    settle(join(path, 'directory'), 0o755, owner);
    settle(join(path, 'file'), 0o644, owner);
    settle(path, mode, owner);
  }
  settle(all, 0o755, owner);
}

function settle(path: string, mode: number, owner: number | undefined): void {
  if (owner !== undefined && isRoot) execFileSync('chown', [`${owner}:${owner}`, path]);
  chmodSync(path, mode);
}

const deep = `
import os, sys
os.umask(0o22)
root, levels, comb = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
os.mkdir(root)
os.chdir(root)
for i in range(levels):
    if comb or i == levels - 1:
        with open('before', 'w') as file: file.write(str(i))
        os.mkdir('a')
        with open('zz', 'w') as file: file.write(str(-i))
        with open('a/in it', 'w') as file: file.write('x')
        os.chmod('a', 0o500 + i % 0o100)
    name = 'level%d' % (i % 7)
    os.mkdir(name)
    os.chmod(name, 0o700 + i % 0o100)
    os.chdir(name)
`;

/** Deeper than any path can name; a comb has files and a directory at each level. */
export function makeDeep(root: string, levels: number, shape: 'bare' | 'comb'): string {
  const args = ['-c', deep, root, `${levels}`];
  needToolHere('python3');
  execFileSync('python3', shape === 'comb' ? [...args, shape] : args);
  return root;
}
