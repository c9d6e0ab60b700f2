import { mkdirSync, rmSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { countsOf, countTree, flawIn, makeTree } from '../../bench/trees.js';
import { workDirectory } from '../support/work.js';

const work = workDirectory('bench-trees');
const tree = { directories: 3, files: 4, bytes: 1500 };
const expected = { files: 12, directories: 3, symlinks: 0, bytes: 18_000 };

test('a tree is as its data say, and a copy that is not is found out', () => {
  const root = join(work, 'tree');
  makeTree(tree, root);
  expect(countsOf(tree)).toEqual(expected);
  expect(countTree(root)).toEqual(expected);
  expect(flawIn(root, expected, undefined)).toBeUndefined();
  truncateSync(join(root, 'directory-1/file-2'), 1000);
  rmSync(join(root, 'directory-2'), { recursive: true });
  symlinkSync('nowhere', join(root, 'link'));
  expect(flawIn(root, expected, undefined)).toBe(
    '8 files instead of 12, 2 directories instead of 3, 1 symlinks instead of 0, 11500 bytes instead of 18000',
  );
});

test('several copies, each in a directory of its own', () => {
  const root = join(work, 'copies');
  mkdirSync(root);
  for (const name of ['0', '1']) makeTree(tree, join(root, name));
  expect(flawIn(root, expected, 2)).toBeUndefined();
  expect(flawIn(root, expected, 3)).toContain('24 files instead of 36');
});

test('a tree without directories is a file', () => {
  const root = join(work, 'one');
  const one = { directories: 0, files: 1, bytes: 1500 };
  makeTree(one, root);
  expect(statSync(root).isFile()).toBe(true);
  expect(countTree(root)).toEqual(countsOf(one));
  truncateSync(root, 1);
  expect(flawIn(root, countsOf(one), undefined)).toBe('1 bytes instead of 1500');
});
