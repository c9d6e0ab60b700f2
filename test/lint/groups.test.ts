import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { alone, groups } from '../groups.js';

const files = readdirSync(join(import.meta.dirname, '..'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => name.replace('.test.ts', ''));
const globs = Object.values(groups).flatMap((group) => group.files);

test('every test file belongs to a group', () => {
  expect(files.filter((name) => !picomatch.isMatch(name, globs))).toEqual([]);
});

test('every name in a group is that of a file', () => {
  const names = [...globs, ...alone].flatMap((glob) => {
    const [, before, list] = /^(.*)\{(.*)\}$/.exec(glob) ?? [];
    return list?.split(',').map((one) => `${before}${one}`) ?? [glob];
  });
  expect(names.filter((glob) => !files.some((name) => picomatch.isMatch(name, glob)))).toEqual([]);
});
