import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadBinary } from '../../lib/engine/load-binary.js';
import { CHILD } from '../support/child.js';
import { workDirectory } from '../support/work.js';

const work = workDirectory('load-binary');
const here = `${process.platform}-${process.arch}`;

/** A package as it is installed, with these files; returns what loading it says. */
function failure(name: string, files: string[]): NodeJS.ErrnoException {
  const root = join(work, name);
  mkdirSync(root);
  writeFileSync(join(root, 'package.json'), '{ "name": "fastcp" }');
  for (const file of files.map((file) => join(root, 'prebuilds', file))) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'no binary');
  }
  try {
    loadBinary(root);
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
  throw new Error('it was loaded');
}

test.each<[string, string[], string[]]>([
  [
    'other systems',
    ['aix-ppc64/fastcp.node', 'plan9-mips/fastcp.glibc.node', 'plan9-mips/fastcp.musl.node'],
    [
      `no binary for ${process.platform} ${process.arch}`,
      'Binaries of this package: aix-ppc64, plan9-mips (glibc, musl).',
      'npm run build:native',
      'FASTCP_PREBUILD',
    ],
  ],
  ['none at all', [], ['Binaries of this package: none: it was installed without them.']],
  [
    'one that is broken',
    [`${here}/fastcp.node`],
    ['its binary does not load', `prebuilds/${here}/fastcp.node`, `package: ${here}.`],
  ],
])('%s', (name, files, said) => {
  const error = failure(name, files);
  expect(error.code).toBe('ERR_FASTCP_NO_BINARY');
  for (const text of said) expect(error.message).toContain(text);
  expect(error.cause).toBeInstanceOf(Error);
});

test('where no addon may be loaded', () => {
  const code = `try { require(process.argv[1]); } catch ({ code, message, cause }) { console.log(code, message, cause.code); }`;
  const { stdout } = spawnSync(process.execPath, ['--no-addons', '-e', code, CHILD], {
    encoding: 'utf8',
  });
  expect(stdout).toMatch(/^ERR_FASTCP_NO_BINARY .*--allow-addons.* ERR_DLOPEN_DISABLED$/m);
});

test('one that is there', () => {
  expect(loadBinary(join(import.meta.dirname, '../..'))).toHaveProperty('Job');
});
