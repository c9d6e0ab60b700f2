import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** In memory where that can be had: what is measured here is not the disk. */
const TEMPORARY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A directory that goes when the tests of the file, or of the block, are over. */
export function workDirectory(): string {
  const directory = mkdtempSync(join(TEMPORARY, 'fastcp-big-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Files of many sizes in directories in directories, with a link and an empty directory here and there. */
export function makeBigTree(root: string, files: number): string {
  const perDirectory = 250;
  for (let index = 0; index < files; index++) {
    const number = Math.floor(index / perDirectory);
    const directory = join(
      root,
      `group-${number % 7}`,
      `inner-${number % 3}`,
      `directory-${number}`,
    );
    if (index % perDirectory === 0) {
      mkdirSync(join(directory, 'empty'), { recursive: true });
      symlinkSync(`file-${index}`, join(directory, 'link'));
    }
    const size = index % 100 === 0 ? 100_000 : index % 2000;
    writeFileSync(join(directory, `file-${index}`), `${index} `.repeat(size / 5));
  }
  return root;
}

/** One file, every byte of which takes room. */
export function makeBigFile(path: string, mebibytes: number): string {
  const piece = Buffer.alloc(1 << 20, 'not a hole; ');
  const file = openSync(path, 'wx');
  for (let index = 0; index < mebibytes; index++) {
    piece.writeUInt32LE(index);
    writeSync(file, piece);
  }
  closeSync(file);
  return path;
}

/** Everything below a directory, by its path within it; of a file, itself. */
export function walk(root: string): string[] {
  const stat = lstatSync(root, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isDirectory() ? (readdirSync(root, { recursive: true }) as string[]).sort() : [''];
}

/** Two snapshots differ if anything below the directory changed meanwhile. */
export function snapshot(root: string): string[] {
  return walk(root).map((path) => {
    const { ino, size, mtimeNs, ctimeNs } = lstatSync(join(root, path), { bigint: true });
    return `${path} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  });
}

/** Entries of DEST that SRC does not have, or not like this: nothing partial, nothing left over. */
export function strangersIn(dest: string, src: string): string[] {
  return walk(dest).filter((path) => !isSame(join(src, path), join(dest, path)));
}

function isSame(src: string, dest: string): boolean {
  const [from, to] = [src, dest].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  if (!from || !to || from.mode !== to.mode) return false;
  if (from.isSymbolicLink()) return readlinkSync(src) === readlinkSync(dest);
  return !from.isFile() || readFileSync(src).equals(readFileSync(dest));
}

/** What the process has open, by what it is; where that can be known. */
export function openFiles(): string[] {
  const directory = '/proc/self/fd';
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .map((name) => {
      try {
        return readlinkSync(join(directory, name));
      } catch {
        return ''; // the listing's own
      }
    })
    .filter((target) => target.startsWith('/') && !target.startsWith('/dev/pts'))
    .sort();
}

export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
