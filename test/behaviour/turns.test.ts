import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../support/child.js';

// The same with pauses at every lock, and under ThreadSanitizer: scripts/sanitize.mjs.
const STRESS = join(import.meta.dirname, '../sanitize/turns.mjs');

test.each([1, 2, 4])('copies in 8 environments take turns in a pool of %i', async (pool) => {
  const env = ['env', `UV_THREADPOOL_SIZE=${pool}`];
  const { status, stdout, stderr } = await run([...env, process.execPath, STRESS, '200']);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  console.log(stdout);
});
