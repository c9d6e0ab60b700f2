// Checks the words of the texts that users and contributors read: words.mjs [ROOT]. Part of `npm run lint`.
//
// Fails on banned terms: "folder" (directory), "link" without sym or hard, and ", too" at the end of a sentence. Code,
// URLs and generated tables do not count. docs/api*.md and docs/command-line.md are generated from doc comments and help
// texts, which are checked in their place.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const generated = ['api.md', 'api-results.md', 'command-line.md'];

const banned = [
  [/\bfolders?\b/gi, 'write directory'],
  [/(?<!hard |hard-|[\w-])links?\b(?! target)/gi, 'write symlink or hard link'],
  [/, too(?=[.;:)]|$)/gim, 'write also'],
];

const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md') && !generated.includes(name))
  .map((name) => `docs/${name}`);
const types = readdirSync(join(root, 'lib/types')).map((name) => `lib/types/${name}`);
const files = [
  ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pages.sort()],
  ...[...types.sort(), 'lib/request/table.ts', 'bin/program.ts'],
];

const faults = [];
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8');
  const parts = (file.endsWith('.md') ? proseOf(text) : commentsOrHelp(file, text)).map(plain);
  for (const part of parts) {
    for (const [pattern, advice] of banned) {
      for (const { 0: found, index } of part.matchAll(pattern)) {
        const around = part.slice(Math.max(0, index - 30), index + 30).trim();
        faults.push(`${file}: '${found}': ${advice}: … ${around} …`);
      }
    }
  }
}
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}

/** Paragraphs, list items and cells of tables, without code and without what a script writes. */
function proseOf(text) {
  return text
    .replace(/^```.*?^```/gms, '')
    .replace(/<!-- (figures|faults).*?<!-- end of \1 -->/gs, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)\s?)|(?<!\\)\|/);
}

function commentsOrHelp(file, text) {
  if (types.includes(file)) return text.match(/\/\*\*.*?\*\//gs).map((one) => one.slice(3, -2));
  const literals = [...text.matchAll(/'([^'\n]* [^'\n]*)'|"([^"\n]* [^"\n]*)"/g)];
  return literals.map(([, one, other]) => one ?? other).filter((one) => !/^[-$]/.test(one));
}

/** One word for each code span; link texts without their URLs. */
function plain(text) {
  return text
    .replace(/^\s*\* ?/gm, ' ')
    .replace(/``.*?``|`[^`]*`|\{@link [^}]*\}/gs, 'CODE')
    .replace(/\]\([^)]*\)|https?:\S+|<\/?\w[^>]*>/g, '')
    .replace(/\s+/g, ' ');
}
