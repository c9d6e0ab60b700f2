import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// docs/errors.md lists the codes that the sources have, and no others.

const root = join(import.meta.dirname, '../..');
const code =
  /'(ERR_[A-Z_]+|[A-Z]+(?:_[A-Z]+)*_(?:SKIPPED|CAPPED|UNAVAILABLE|IGNORED|COPIED|UNMATCHED|FOUND|LEFT|LOCK|DROPPED|PRESERVED))'/g;

test('all codes are listed', () => {
  const files = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' });
  const sources = files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(root, 'lib', name), 'utf8'));
  const known = new Set(sources.flatMap((text) => [...text.matchAll(code)].map(([, one]) => one)));
  // Node's, and fastcp's causes for ERR_FASTCP_NO_BINARY.
  for (const cause of ['ERR_DLOPEN_FAILED', 'ERR_DLOPEN_DISABLED', 'MODULE_NOT_FOUND'])
    known.delete(cause);
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const listed = new Set([...page.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, one]) => one));
  listed.delete('UV_THREADPOOL_SIZE');
  expect([...listed].sort()).toEqual([...known].sort());
});
