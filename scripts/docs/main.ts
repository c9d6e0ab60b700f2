// Writes what is generated of the documentation; with --check only tells whether that is current.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inReadingOrder } from './api.js';
import { comingFrom } from './coming-from.js';
import { toMan } from './man.js';
import { manual } from './manual.js';
import { toMarkdown } from './markdown.js';

const root = join(import.meta.dirname, '..'); // of build/
const text = manual();
const api = apiPages();
const files: Record<string, string> = {
  'docs/command-line.md': toMarkdown(text),
  'man/fastcp.1': toMan(text),
  'docs/coming-from.md': comingFrom(root),
  'docs/api.md': api['api.md'],
  'docs/api-results.md': api['api-results.md'],
};
for (const [file, content] of Object.entries(files)) {
  const path = join(root, file);
  if (existsSync(path) && readFileSync(path, 'utf8') === content) continue;
  if (process.argv.includes('--check')) {
    console.error(`${file} is not current: npm run docs`);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  console.log(file);
}

/** Of the types and their comments, by TypeDoc; typedoc.json has its options. */
function apiPages(): ReturnType<typeof inReadingOrder> {
  const out = join(root, 'build/api');
  const typedoc = join(root, 'node_modules/typedoc/bin/typedoc');
  const args = ['--options', join(root, 'typedoc.json'), '--logLevel', 'Warn', '--out', out];
  execFileSync(process.execPath, [typedoc, ...args], { cwd: root, stdio: ['ignore', 2, 2] });
  return inReadingOrder(readFileSync(join(out, 'api.md'), 'utf8'));
}
