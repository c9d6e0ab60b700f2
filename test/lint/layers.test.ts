import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { workDirectory } from '../support/work.js';

// The lint step that keeps the layers of the addon apart, and the library free of assumptions about its realm.

const root = join(import.meta.dirname, '../..');
const work = workDirectory('layers');
const sources = join(work, 'src');

beforeEach(() => cpSync(join(root, 'binding/src'), sources, { recursive: true }));

function lint(): { status: number | null; stderr: string } {
  return spawnSync('node', [join(root, 'scripts/layers.mjs'), sources], { encoding: 'utf8' });
}

test('the sources include nothing of a layer above', () => {
  expect(lint()).toMatchObject({ status: 0, stderr: '' });
});

test.for([
  ['engine/run/engine.h', 'engine/entry/metadata.h', 'it belongs to a layer above'],
  ['engine/entry/place.cc', 'engine/tree/mirror.h', 'it belongs to a layer above'],
  ['engine/base/report.cc', 'engine/run/engine.h', 'it belongs to a layer above'],
  ['platform/platform.h', 'engine/base/report.h', 'it belongs to a layer above'],
  ['engine/tree/mirror.cc', 'host/threads.h', 'it belongs to a layer above'],
  ['host/threads.cc', 'platform/linux/processors.h', 'only platform.h is for others'],
  ['platform/win32/text.cc', 'platform/posix/posix.h', 'only platform.h is for others'],
  ['engine/tree/mirror.cc', '../entry/place.h', 'includes are written as paths below binding/src'],
])('%s may not include %s', ([file, included, reason]) => {
  const path = join(sources, file as string);
  writeFileSync(path, `#include "${included}"\n${readFileSync(path, 'utf8')}`);
  expect(lint()).toMatchObject({
    status: 1,
    stderr: `${file} includes ${included}: ${reason}\n`,
  });
});

test.each([
  ['if (error instanceof Error) throw error;', 'instanceof Error', 'another realm'],
  ["await import('node:child_process');", "import('node:child_process')", 'a vm context'],
  ["import { setTimeout } from 'node:timers/promises';", 'node:timers/promises', 'builtins.ts'],
  ['setImmediate(go);', 'setImmediate(', 'builtins.ts'],
  ['process.nextTick(go);', 'process.nextTick', 'builtins.ts'],
])('the library may not have %s', (line, said, why) => {
  const library = join(work, 'lib');
  mkdirSync(library, { recursive: true });
  writeFileSync(join(library, 'one.ts'), `class Own {}\nif (x instanceof Own) y();\n${line}\n`);
  const { status, stderr } = spawnSync(
    'node',
    [join(root, 'scripts/layers.mjs'), sources, library],
    { encoding: 'utf8' },
  );
  expect(status).toBe(1);
  expect(stderr).toMatch(/^lib\/one\.ts has .*\n$/);
  expect(stderr).toContain(said);
  expect(stderr).toContain(why);
});
