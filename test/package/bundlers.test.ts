import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { rollup } from 'rollup';
import { describe, expect, test } from 'vitest';
import {
  beforePackageTests,
  expectCopy,
  makeApp,
  npmApp,
  packFastcp,
  programs,
  run,
  workplace,
} from './support/package.js';

// Bundlers that leave packages alone, as they do for Node.

const { temp, src } = workplace();
const app = join(temp, 'app');
const entry = join(app, 'use.mjs');

beforePackageTests(() => {
  npmApp(app, packFastcp(temp));
  makeApp(app, programs);
});

const formats = [
  ['esm', 'mjs'],
  ['cjs', 'cjs'],
] as const;

describe.each(formats)('%s', (format, extension) => {
  test('esbuild', async () => {
    const outfile = join(app, `esbuild.${extension}`);
    const bundle = { bundle: true, platform: 'node', packages: 'external' } as const;
    await esbuild({ ...bundle, entryPoints: [entry], format, outfile });
    expectToRun(outfile);
  });

  test('rollup', async () => {
    const file = join(app, `rollup.${extension}`);
    const bundle = await rollup({ input: entry, external: ['fastcp'] });
    await bundle.write({ file, format });
    await bundle.close();
    expectToRun(file);
  });
});

function expectToRun(program: string): void {
  const dest = `${program}.copy`;
  expect(run('node', [program, src, dest], app)).toBe('2\n');
  expectCopy(dest, src);
}
