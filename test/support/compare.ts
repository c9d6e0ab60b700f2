import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hasTool, needToolHere } from './work.js';

export type Kind = 'file' | 'directory' | 'symlink' | 'fifo' | 'character' | 'block' | 'socket';

/** An entry of a tree, as this file's own walk sees it. */
export interface Entry {
  kind: Kind;
  mode: string;
  /** The hash of a file's content, a link's target, a device's numbers. */
  what: string;
  size: bigint;
  allocated: bigint;
  inode: bigint;
}

/** By path below the root, bytes as latin1; the root itself is ''. */
export type Tree = Map<string, Entry>;

export function readTree(root: string): Tree {
  const tree: Tree = new Map();
  const visit = (path: Buffer, name: string): void => {
    const entry = readEntry(path);
    tree.set(name, entry);
    if (entry.kind !== 'directory') return;
    for (const child of readdirSync(path, 'buffer')) {
      const childName = child.toString('latin1');
      visit(Buffer.concat([path, slash, child]), name === '' ? childName : `${name}/${childName}`);
    }
  };
  visit(Buffer.from(root), '');
  return tree;
}

const slash = Buffer.from('/');

function readEntry(path: Buffer): Entry {
  const stat = lstatSync(path, { bigint: true });
  const kind = kindOf(stat);
  let what = '';
  if (kind === 'file') what = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (kind === 'symlink') what = readlinkSync(path, 'latin1');
  if (kind === 'character' || kind === 'block') what = `${stat.rdev}`;
  return {
    kind,
    // A link has no mode of its own.
    mode: kind === 'symlink' ? '' : (stat.mode & 0o7777n).toString(8),
    what,
    size: kind === 'file' ? stat.size : 0n,
    allocated: stat.blocks * 512n,
    inode: stat.ino,
  };
}

function kindOf(stat: BigIntStats): Kind {
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isCharacterDevice()) return 'character';
  if (stat.isBlockDevice()) return 'block';
  return stat.isSocket() ? 'socket' : 'file';
}

/** What a copy of the tree should say it did. */
export function countsOf(root: string) {
  const kinds = [...readTree(root).values()].map(({ kind }) => kind);
  const count = (...wanted: Kind[]): number => kinds.filter((kind) => wanted.includes(kind)).length;
  return {
    scanned: kinds.length,
    files: count('file'),
    directories: count('directory'),
    symlinks: count('symlink'),
    special: count('fifo', 'character', 'block'),
    skipped: count('socket'),
    hardLinks: 0,
    deleted: 0,
    errorCount: 0,
    warningCount: count('socket'),
  };
}

/** Every difference of a copy, by three oracles; sockets are left out of copies. */
export function differences(src: string, dest: string): string[] {
  return [...byWalk(src, dest), ...byDiff(src, dest), ...byRsync(src, dest)];
}

/** More than this is a hole filled up; file systems round, and keep some blocks in advance. */
const slack = 128n << 10n;

function byWalk(src: string, dest: string): string[] {
  const from = readTree(src);
  const to = readTree(dest);
  const found: string[] = [];
  for (const [name, entry] of from) {
    const copy = to.get(name);
    to.delete(name);
    if (entry.kind === 'socket') continue;
    for (const field of ['kind', 'mode', 'what', 'size'] as const) {
      if (copy?.[field] !== entry[field]) {
        found.push(`${JSON.stringify(name)}: ${field} ${entry[field]} became ${copy?.[field]}`);
      }
    }
    if (copy && entry.kind === 'file' && copy.allocated > entry.allocated + slack) {
      found.push(`${JSON.stringify(name)}: ${entry.allocated} bytes take ${copy.allocated}`);
    }
  }
  return [...found, ...[...to.keys()].map((name) => `${JSON.stringify(name)}: only in the copy`)];
}

function byDiff(src: string, dest: string): string[] {
  const { stdout, stderr } = oracle('diff', ['-r', '--no-dereference', src, dest]);
  // It cannot compare what must not be read, and says so.
  const same = /^File .* is a (.+) while file .* is a \1$/;
  return lines(stdout + stderr).filter(
    (line) => !same.test(line) && !/^Only in .*: socket$/.test(line),
  );
}

function byRsync(src: string, dest: string): string[] {
  if (!hasTool('rsync')) return [];
  const flags = ['-nirlp', '--size-only', '--specials', '--devices', '--delete'];
  const { stdout, stderr } = oracle('rsync', [...flags, `${src}/`, `${dest}/`]);
  return lines(stdout + stderr).filter((line) => !/^cS\S+ (.*\/)?socket$/.test(line));
}

function oracle(file: string, args: string[]): { stdout: string; stderr: string } {
  const env = { ...process.env, LC_ALL: 'C' };
  const { stdout, stderr, error } = spawnSync(file, args, { encoding: 'latin1', env });
  if (error) throw error;
  return { stdout, stderr };
}

const lines = (text: string): string[] => text.split('\n').filter(Boolean);

const deepWalk = `
import hashlib, os, stat, sys
os.chdir(sys.argv[1])
digest, directories, others = hashlib.sha256(), 1, 0
pending = [iter(sorted(os.listdir(b'.')))]
while pending:
    name = next(pending[-1], None)
    if name is None:
        pending.pop()
        digest.update(b'up')
        if pending: os.chdir('..')
        continue
    found = os.lstat(name)
    digest.update(b'%s %o ' % (name, found.st_mode))
    if stat.S_ISDIR(found.st_mode):
        directories += 1
        os.chdir(name)
        pending.append(iter(sorted(os.listdir(b'.'))))
        continue
    others += 1
    if stat.S_ISREG(found.st_mode):
        with open(name, 'rb') as file: digest.update(file.read())
    if stat.S_ISLNK(found.st_mode): digest.update(os.readlink(name))
print(directories, others, digest.hexdigest())
`;

/** Sums up a tree that is too deep for paths: numbers of directories and other entries, and a hash. */
export function deepSummary(root: string): { directories: number; others: number; hash: string } {
  needToolHere('python3');
  const output = execFileSync('python3', ['-c', deepWalk, root], { encoding: 'utf8' });
  const [directories, others, hash = ''] = output.trim().split(' ');
  return { directories: Number(directories), others: Number(others), hash };
}

/** Entries of DEST that are not what SRC has. */
export function unlike(src: string, to: string): string[] {
  const from = readTree(src);
  return [...readTree(to)]
    .filter(
      ([name, { kind, what }]) => from.get(name)?.kind !== kind || from.get(name)?.what !== what,
    )
    .map(([name]) => name);
}

/** Names of files that a copy makes on its way and must not leave. */
export function leftovers(root: string): string[] {
  return [...readTree(root).keys()].filter((name) => name.includes('.fastcp-'));
}

/** The sum of the sizes of a tree's files. */
export function bytesIn(root: string): number {
  return [...readTree(root).values()].reduce((sum, { size }) => sum + Number(size), 0);
}
