import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { corpus } from './paths.js';
import { sh } from './shell.js';
import type { Tree } from './workloads.js';

/** What is in a tree. Bytes are those of regular files; the root itself is not counted. */
export interface Counts {
  files: number;
  directories: number;
  symlinks: number;
  bytes: number;
}

export function makeTree(tree: Tree, root: string): void {
  if (tree === 'corpus') {
    sh('cp', '-a', '--reflink=never', corpus, root);
    return;
  }
  const block = randomBytes(Math.min(tree.bytes, 2 ** 20));
  if (tree.directories === 0) {
    makeFile(root, tree.bytes, block);
    return;
  }
  mkdirSync(root);
  for (let directory = 0; directory < tree.directories; directory++) {
    const path = join(root, `directory-${directory}`);
    mkdirSync(path);
    for (let file = 0; file < tree.files; file++) {
      makeFile(join(path, `file-${file}`), tree.bytes, block);
    }
  }
}

export function makeFile(path: string, bytes: number, block: Buffer): void {
  const descriptor = openSync(path, 'wx');
  for (let left = bytes; left > 0; ) {
    left -= writeSync(descriptor, block, 0, Math.min(left, block.length));
  }
  closeSync(descriptor);
}

/** What makeTree() makes. */
export function countsOf(tree: Tree): Counts {
  if (tree === 'corpus') return countTree(corpus);
  const { directories, bytes } = tree;
  const files = Math.max(1, directories) * tree.files;
  return { files, directories, symlinks: 0, bytes: files * bytes };
}

export function countTree(root: string): Counts {
  const counts: Counts = { files: 0, directories: 0, symlinks: 0, bytes: 0 };
  const [first = '', ...below] = sh('find', root, '-printf', '%y %s\\n').split('\n');
  for (const line of first.startsWith('d') ? below : [first]) {
    if (line.startsWith('f')) {
      counts.files++;
      counts.bytes += Number(line.slice(2));
    } else if (line.startsWith('d')) counts.directories++;
    else if (line.startsWith('l')) counts.symlinks++;
  }
  return counts;
}

/** What a copy, or several in directories of their own, lacks or has too much; undefined where it is whole. */
export function flawIn(dest: string, expected: Counts, copies: number | undefined) {
  const found = countTree(dest);
  const times = copies ?? 1;
  const ownDirectories = copies ?? 0;
  const differences = (['files', 'directories', 'symlinks', 'bytes'] as const).flatMap((name) => {
    const wanted = expected[name] * times + (name === 'directories' ? ownDirectories : 0);
    return found[name] === wanted ? [] : [`${found[name]} ${name} instead of ${wanted}`];
  });
  return differences.length > 0 ? differences.join(', ') : undefined;
}

/** Roughly what a tree takes in memory or on a file system, metadata included, in bytes. */
export function footprint({ files, directories, symlinks, bytes }: Counts): number {
  const inode = 1500;
  const halfBlock = 2048;
  return bytes + files * (bytes > 0 ? halfBlock : 0) + (files + directories + symlinks) * inode;
}
