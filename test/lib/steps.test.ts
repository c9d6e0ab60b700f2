import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ahead, type Looks, realpath, run } from '../../lib/io/steps.js';
import { workDirectory } from '../support/work.js';

const work = workDirectory('steps');

test('a path that was created after the walk looked ahead', async () => {
  const path = Buffer.from(join(work, 'later'));
  const looks: Looks = new Map();
  await run(ahead([realpath(path)]), looks);
  await expect(looks.get(`realpath ${path}`)).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(run(realpath(path), looks)).rejects.toMatchObject({ code: 'ENOENT' });
  mkdirSync(path);
  expect(await run(realpath(path), looks)).toEqual(path);
});
