import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../support/child.js';
import { needTool } from '../support/work.js';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'man/fastcp.1');

test('what is generated is current', async () => {
  const ended = await run([process.execPath, join(root, 'build/docs.mjs'), '--check'], root);
  expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('mandoc finds nothing wrong in the man page', async (context) => {
  needTool(context, 'mandoc');
  expect(await run(['mandoc', '-T', 'lint', '-W', 'error', page])).toMatchObject({ status: 0 });
});

test('man shows it', async (context) => {
  needTool(context, 'man');
  const { status, stdout, stderr } = await run(['man', '--warnings', '-l', page]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^ +fastcp - copy directory trees/m);
  expect(stdout).toMatch(/^ +--sync\s+skip unchanged files, and preserve timestamps$/m);
  expect(stdout).toMatch(/^ +--backup\[=how\]\n +keep replaced files/m);
});
