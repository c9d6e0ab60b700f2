import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { readTree } from '../../support/compare.js';
import { makeFiles } from '../../support/trees.js';

/** mtimes of the fixture, in seconds; whatever is written by a test is newer. */
const [older, old, newer] = [1_500_000_000, 1_550_000_000, 1_600_000_000];

/** What the rows of scripts/docs/habits.txt copy: `a` is SRC; `b` exists; `new` does not. */
export function makeHabitat(root: string): string {
  mkdirSync(root);
  makeFiles(root, {
    'a/.env': 'SECRET=1',
    'a/.gitignore': 'node_modules\n*.log\n',
    'a/file': 'file',
    'a/newer': 'newer in SRC',
    'a/older': 'older in SRC',
    'a/private': 'private',
    'a/script': '#!/bin/sh',
    'a/one': 'hard link',
    'a/holes': Buffer.alloc(1 << 20),
    'a/build/out.js': 'built',
    'a/tmp/x': 'x',
    'a/node_modules/m/index.js': 'm',
    'a/sub/keep.txt': 'keep',
    'a/sub/note.md': 'note',
    'a/sub/tmp': 'a file',
    'a/sub/build/out.js': 'built',
    'a/sub/deep/x.log': 'log',
    'a/sub/deep/sub/other.txt': 'other',
    'a/sub/node_modules/n/index.js': 'n',
    'b/newer': 'in DEST',
    'b/older': 'in DEST, and newer there',
    'b/file': 'old file',
    'b/file.~1~': 'a backup',
    'b/private': 'no longer private',
    'b/extra': 'extra',
    'b/sub/extra': 'extra',
    'b/sub/node_modules/n/index.js': 'n of DEST',
    'c/one': 'one',
    'c/directory/two': 'two',
    'e/stamped': 'version 1.0.2',
    'g/stamped': 'version 1.0.1',
    'w/file': 'for everybody',
    f: 'a single file',
    globs: '# comment\n; comment\n\n*.log\n/build\ntmp/\n',
    wanted: 'keep.txt\n',
  });
  mkdirSync(join(root, 'a/empty'));
  linkSync(join(root, 'a/one'), join(root, 'a/two'));
  symlinkSync('file', join(root, 'a/to-file'));
  symlinkSync('sub', join(root, 'a/to-sub'));
  symlinkSync('nowhere', join(root, 'a/dangling'));
  symlinkSync('one', join(root, 'c/to-one'));
  symlinkSync('directory', join(root, 'c/to-directory'));
  symlinkSync('c', join(root, 'to-c'));
  chmodSync(join(root, 'a/private'), 0o600);
  chmodSync(join(root, 'a/script'), 0o755);
  chmodSync(join(root, 'a/sub/deep'), 0o700);
  chmodSync(join(root, 'w/file'), 0o666);
  if (process.getuid?.() === 0) {
    execFileSync('chown', ['-h', '1234:2345', join(root, 'a/file'), join(root, 'a/to-file')]);
  }
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const time = /^(a\/newer|b\/older)$/.test(name) ? newer : name.startsWith('b') ? older : old;
    lutimesSync(join(root, name), time, time);
  }
  return root;
}

export type Outcome = Record<string, Record<string, string>>;

/** Every entry below a directory, in fields that two runs of one command have in common. */
export function outcomeAt(root: string): Outcome {
  const names = [...readTree(root).entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const firstNames = new Map<bigint, string>();
  const outcome: Outcome = {};
  for (const [name, { kind, mode, what, size, inode }] of names) {
    if (name === '') continue;
    const { mtimeMs, uid, gid } = lstatSync(join(root, name));
    if (kind !== 'directory' && !firstNames.has(inode)) firstNames.set(inode, name);
    outcome[name] = {
      kind,
      mode,
      what,
      size: `${size}`,
      owner: `${uid}:${gid}`,
      mtime: mtimeMs / 1000 <= newer ? `${mtimeMs}` : 'the time of the copy',
      hardLinkTo: firstNames.get(inode) ?? name,
    };
  }
  return outcome;
}

/** Fields that differ, and paths that only one has, each with everything below it: `+new` is only in `two`. */
export function differing(one: Outcome, two: Outcome): string[] {
  const found = new Set<string>();
  const isBelow = (name: string, sign: string): boolean =>
    [...found].some((other) => name.startsWith(`${other.slice(1)}/`) && other.startsWith(sign));
  for (const name of Object.keys({ ...one, ...two }).sort()) {
    const [left, right] = [one[name], two[name]];
    if (left && right) {
      for (const field of Object.keys(left)) if (left[field] !== right[field]) found.add(field);
    } else {
      const sign = left ? '-' : '+';
      if (!isBelow(name, sign)) found.add(`${sign}${name}`);
    }
  }
  return [...found].sort();
}
