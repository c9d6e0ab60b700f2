import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';

/** In memory where that can be had: a slow disk makes minutes of the large trees. */
const TEMPORARY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A directory that goes when the tests of the file are over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(TEMPORARY, 'fastcp-bin-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Makes files by their paths, and their directories. */
export function makeTree(root: string, files: Record<string, string>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

/** Many small files: a copy that lasts long enough to be interrupted. */
export function makeLargeTree(root: string, files = 30_000): string {
  for (let index = 0; index < files; index++) {
    const directory = join(root, `directory-${Math.floor(index / 300)}`);
    if (index % 300 === 0) mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `a-rather-long-name-of-a-file-${index}`), `${index}`);
  }
  return root;
}
