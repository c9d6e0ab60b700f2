import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { targets } from '../../scripts/targets.mjs';
import {
  beforePackageTests,
  expectCopy,
  makeApp,
  npmApp,
  packFastcp,
  programs,
  root,
  run,
  workplace,
} from './support/package.js';

// The package as users get it: packed, and installed where there is no compiler.

const { temp, src } = workplace();
const app = join(temp, 'app');
let tarball: string;

beforePackageTests(() => {
  tarball = packFastcp(temp);
  npmApp(app, tarball);
});

describe('the npm package', () => {
  it('contains what is built and nothing else', () => {
    const files = run('tar', ['-tzf', tarball], temp, process.env.PATH)
      .trim()
      .split('\n')
      .map((file) => file.replace('package/', ''));
    const meant =
      /^(dist\/.+\.(js|cjs|d\.ts|d\.cts)|prebuilds\/.+\.node|man\/fastcp\.1|package\.json|(README|CHANGELOG|SECURITY|THIRD-PARTY)\.md|LICENSE)$/;
    expect(files.filter((file) => !meant.test(file))).toEqual([]);
    const built = targets.filter(({ ci }) => ci).map(({ file }) => file);
    expect(built).toContain('prebuilds/linux-x64/fastcp.glibc.node');
    expect(files).toEqual(expect.arrayContaining(built));
    expect(files).toEqual(expect.arrayContaining(['man/fastcp.1', 'SECURITY.md']));
  });

  it('is not published while the address of the repository is a placeholder', () => {
    const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const env = { ...process.env, npm_command: 'publish' };
    const check = join(root, 'scripts/check-pack.mjs');
    const { stderr, status } = spawnSync('node', [check], { env, encoding: 'utf8' });
    const isPlaceholder = repository.url.includes('/OWNER/');
    expect(stderr.includes('placeholder OWNER')).toBe(isPlaceholder);
    if (isPlaceholder) expect(status).toBe(1);
  });

  it('has no script that an install would run', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const run = ['preinstall', 'install', 'postinstall', 'prepare'];
    expect(Object.keys(scripts).filter((name) => run.includes(name))).toEqual([]);
    expect(readdirSync(root)).not.toContain('binding.gyp');
  });

  it('is as publint wants it', () => {
    const publint = join(root, 'node_modules/publint/src/cli.js');
    expect(run('node', [publint, '--strict', tarball], temp)).toContain('All good!');
  });

  it('has types that every kind of import finds', () => {
    const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    const args = [attw, '--profile', 'strict', '--format', 'json', tarball];
    const { analysis } = JSON.parse(run('node', args, temp)) as {
      analysis: { entrypoints: object; problems: { resolutionKind?: string }[] };
    };
    expect(Object.keys(analysis.entrypoints)).toEqual([
      ...['.', './fs', './fs/promises', './fs-extra', './package.json'],
    ]);
    expect(analysis.problems).toEqual([]);
  });

  it.each(Object.entries(programs))('copies by %s', (file, program) => {
    const dest = join(temp, file);
    makeApp(app, { [file]: program });
    expect(run('node', [file, src, dest], app)).toBe('2\n');
    expectCopy(dest, src);
  });

  const args = 'process.argv[2], process.argv[3]';
  const options = '{ recursive: true, verbatimSymlinks: true }';
  it.each([
    ['fs.mjs', `import { cpSync } from 'fastcp/fs'; cpSync(${args}, ${options});`],
    ['fs.cjs', `const { cpSync } = require('fastcp/fs'); cpSync(${args}, ${options});`],
    ['fs-default.mjs', `import fs from 'fastcp/fs'; fs.cpSync(${args}, ${options});`],
    ['promises.mjs', `import { cp } from 'fastcp/fs/promises'; await cp(${args}, ${options});`],
    ['promises.cjs', `require('fastcp/fs/promises').cp(${args}, ${options});`],
    ['fs-extra.mjs', `import fs from 'fastcp/fs-extra'; await fs.copy(${args});`],
    ['fs-extra-named.mjs', `import { copySync } from 'fastcp/fs-extra'; copySync(${args});`],
    ['fs-extra.cjs', `require('fastcp/fs-extra').copySync(${args});`],
  ])('stands in for node:fs or fs-extra in %s', (file, program) => {
    const dest = join(temp, file);
    makeApp(app, { [file]: `${program}\n` });
    expect(run('node', [file, src, dest], app)).toBe('');
    expectCopy(dest, src);
  });

  it('copies in a worker thread', () => {
    const dest = join(temp, 'worker');
    const use = `import { Worker } from 'node:worker_threads';
      new Worker('./use.mjs', { argv: process.argv.slice(2) });`;
    makeApp(app, { ...programs, 'worker.mjs': use });
    expect(run('node', ['worker.mjs', src, dest], app)).toBe('2\n');
    expectCopy(dest, src);
  });

  it('copies by its command', () => {
    const dest = join(temp, 'command');
    run('npx', ['--no-install', 'fastcp', src, dest], app);
    expectCopy(dest, src);
  });
});
