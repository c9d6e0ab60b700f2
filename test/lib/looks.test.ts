import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Looks } from '../../lib/io/looks.js';
import { workDirectory } from '../support/work.js';

const work = workDirectory('looks');

test('a path that was created after the walk looked ahead', async () => {
  const path = Buffer.from(join(work, 'later'));
  const link = Buffer.from(join(work, 'link'));
  symlinkSync(path, link);
  const looks = new Looks();
  expect(await looks.fetch('realpath', path)).toBeUndefined();
  expect(await looks.fetchEntry(link)).toBeUndefined();
  expect(() => looks.realpath(path)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  expect(looks.isDangling(link)).toBe(true);
  mkdirSync(path);
  expect(looks.realpath(path)).toEqual(path);
  expect(looks.isDangling(link)).toBe(false);
  expect(looks.existing(link, true)).toBeUndefined(); // the table has it
});
