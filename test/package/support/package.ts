import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { buildPrebuilds } from '../../support/prebuilds.js';
import { hasTool, needTool } from '../../support/work.js';

export const root = join(import.meta.dirname, '../../..');
export const minutes = 60_000;

/** A directory for a test file, with a small tree to copy in it. */
export function workplace() {
  const temp = mkdtempSync(join(tmpdir(), 'fastcp-package-'));
  afterAll(() => rmSync(temp, { recursive: true, force: true }));
  const src = join(temp, 'src');
  mkdirSync(join(src, 'deep/er'), { recursive: true });
  writeFileSync(join(src, 'a.txt'), 'a');
  writeFileSync(join(src, 'deep/er/b.txt'), 'b');
  symlinkSync('deep/er', join(src, 'link'));
  return { temp, src };
}

/** Calls `prepare` before the tests around it. Skips these tests on a machine that cannot pack. */
export function beforePackageTests(prepare: () => void): void {
  beforeAll(() => {
    if (hasTool('python3')) prepare(); // which looks into the binaries
  }, 10 * minutes);
  beforeEach((context) => needTool(context, 'python3'));
}

/** Packs fastcp as it would be published; returns the tarball. */
export function packFastcp(directory: string): string {
  buildPrebuilds();
  return pack(directory, root);
}

/** Packs any package. */
export function pack(directory: string, of: string): string {
  const args = ['pack', '--silent', '--pack-destination', directory];
  return join(directory, run('npm', args, of, process.env.PATH).trim().split('\n').at(-1) ?? '');
}

/** A project that uses the tarball, with files in it. */
export function makeApp(directory: string, files: Record<string, string>): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(directory, name), content);
  return directory;
}

/** One that npm installed it in, with nothing on the PATH but Node. */
export function npmApp(directory: string, tarball: string): string {
  makeApp(directory, { 'package.json': '{ "private": true }' });
  run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', tarball], directory);
  return directory;
}

const call = 'copyTree(...process.argv.slice(2)).then((r) => console.log(r.files));';

/** Copies its first argument to its second, and prints 2. */
export const programs = {
  'use.mjs': `import { copyTree } from 'fastcp';\n${call}\n`,
  'use.cjs': `const { copyTree } = require('fastcp');\n${call}\n`,
};

export function expectCopy(dest: string, src: string): void {
  const list = (directory: string) => readdirSync(directory, { recursive: true }).sort();
  expect(list(dest)).toEqual(list(src));
  expect(readFileSync(join(dest, 'link/b.txt'), 'utf8')).toBe('b');
}

/** Runs a command as a user would: not inside npm, and with nothing on the PATH but Node and a shell. */
export function run(command: string, args: string[], cwd: string, path = barePath()): string {
  const timeout = cwd === root ? 9 * minutes : minutes;
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|PREBUILD|ZIG|NODE_OPTIONS$)/i.test(name),
  );
  // vitest's own timeouts cannot interrupt a synchronous call.
  return execFileSync(command, args, {
    cwd,
    env: { ...Object.fromEntries(outside), PATH: path },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
    killSignal: 'SIGKILL',
  });
}

let bare: string | undefined;
afterAll(() => {
  if (bare) rmSync(bare, { recursive: true, force: true });
});

function barePath(): string {
  if (bare) return bare;
  const found = ['npm', 'npx', 'sh'].map((name) => [name, which(name)] as const);
  bare = mkdtempSync(join(tmpdir(), 'fastcp-bin-'));
  for (const [name, path] of [['node', process.execPath] as const, ...found]) {
    symlinkSync(path, join(bare, name));
  }
  return bare;
}

function which(name: string): string {
  const directories = (process.env.PATH ?? '').split(delimiter);
  const path = directories
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
  if (!path) throw new Error(`${name} is not on the PATH`);
  return path;
}
