import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../support/child.js';

test('the list of mutants fits the sources', async () => {
  const script = join(import.meta.dirname, '../../scripts/mutants.mjs');
  const ended = await run([process.execPath, script, '--check']);
  expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
});
