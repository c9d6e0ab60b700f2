import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { workDirectory } from '../support/work.js';

// The lint step that checks the words of pages, help texts and doc comments.

const root = join(import.meta.dirname, '../..');
const work = workDirectory('words');

beforeEach(() => {
  const texts = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs', 'bin'];
  for (const name of [...texts, 'lib/types', 'lib/request/table.ts']) {
    cpSync(join(root, name), join(work, name), { recursive: true });
  }
});

function lint(): { status: number | null; stderr: string } {
  return spawnSync('node', [join(root, 'scripts/words.mjs'), work], { encoding: 'utf8' });
}

test('the texts have no banned terms', () => {
  expect(lint()).toMatchObject({ status: 0, stderr: '' });
});

test.for([
  ['docs/again.md', 'A folder.', "'folder': write directory"],
  ['docs/errors.md', '| a link | |', "'link': write symlink or hard link"],
  ['README.md', 'It works, too.', "', too': write also"],
  ['lib/types/problems.ts', '/** Follows\n * links. */', "'links': write symlink or hard link"],
  ['bin/program.ts', "const help = 'of a folder';", "'folder': write directory"],
])('in %s: %s', ([file = '', text = '', fault = '']) => {
  appendFileSync(join(work, file), `\n${text}\n`);
  const { status, stderr } = lint();
  expect(status).toBe(1);
  expect(stderr).toMatch(`${file}: ${fault}`);
});

test.for([
  'A symlink, a hard link, hard\nlinks, and the link target.',
  '`--link` and [a page](link.md)',
  '```sh\nln -s folder link\n```',
])('not: %s', (text) => {
  appendFileSync(join(work, 'docs/again.md'), `\n${text}\n`);
  expect(lint()).toMatchObject({ status: 0, stderr: '' });
});
