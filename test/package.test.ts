import { execFileSync } from 'node:child_process';
import {
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
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { targets } from '../scripts/targets.mjs';

// The package as users get it: packed, and installed where there is no compiler.

const root = join(import.meta.dirname, '..');
const minutes = 60_000;

let temp: string;
let app: string;
let src: string;

beforeAll(() => {
  temp = mkdtempSync(join(tmpdir(), 'fastcp-package-'));

  app = join(temp, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true }');

  src = join(temp, 'src');
  mkdirSync(join(src, 'deep/er'), { recursive: true });
  writeFileSync(join(src, 'a.txt'), 'a');
  writeFileSync(join(src, 'deep/er/b.txt'), 'b');
  symlinkSync('deep/er', join(src, 'link'));

  run('npm', ['run', 'build:prebuilds', '--', '--if-stale'], root, process.env.PATH);
  run('npm', ['pack', '--pack-destination', temp], root, process.env.PATH);
  run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', tarball()]);
}, 10 * minutes);

afterAll(() => rmSync(temp, { recursive: true, force: true }));

describe('the npm package', () => {
  it('contains what is built and nothing else', () => {
    const files = execFileSync('tar', ['-tzf', tarball()], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((file) => file.replace('package/', ''));
    const meant =
      /^(dist\/.+\.(js|cjs|d\.ts|d\.cts)|prebuilds\/.+\.node|package\.json|(README|CHANGELOG)\.md|LICENSE)$/;
    expect(files.filter((file) => !meant.test(file))).toEqual([]);
    const built = targets.filter(({ ci }) => ci).map(({ file }) => file);
    expect(built).toContain('prebuilds/linux-x64/fastcp.glibc.node');
    expect(files).toEqual(expect.arrayContaining(built));
  });

  it('has no script that an install would run', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const run = ['preinstall', 'install', 'postinstall', 'prepare'];
    expect(Object.keys(scripts).filter((name) => run.includes(name))).toEqual([]);
    expect(readdirSync(root)).not.toContain('binding.gyp');
  });

  it.each([
    ['import', 'use.mjs', "import { copyTree } from 'fastcp';"],
    ['require', 'use.cjs', "const { copyTree } = require('fastcp');"],
  ])('copies after %s', (_, file, load) => {
    const dest = join(temp, file);
    const use = 'copyTree(...process.argv.slice(2)).then((r) => console.log(r.files));';
    writeFileSync(join(app, file), `${load}\n${use}\n`);
    expect(run('node', [file, src, dest])).toBe('2\n');
    expectCopy(dest);
  });

  it.each([
    ['import', 'fs.mjs', "import { cpSync } from 'fastcp/fs';"],
    ['require', 'fs.cjs', "const { cpSync } = require('fastcp/fs');"],
  ])('stands in for node:fs after %s', (_, file, load) => {
    const dest = join(temp, file);
    const use = 'cpSync(...process.argv.slice(2), { recursive: true, verbatimSymlinks: true });';
    writeFileSync(join(app, file), `${load}\n${use}\n`);
    expect(run('node', [file, src, dest])).toBe('');
    expectCopy(dest);
  });

  it('copies by its command', () => {
    const dest = join(temp, 'command');
    run('npx', ['--no-install', 'fastcp', src, dest]);
    expectCopy(dest);
  });
});

function expectCopy(dest: string) {
  const list = (folder: string) => readdirSync(folder, { recursive: true }).sort();
  expect(list(dest)).toEqual(list(src));
  expect(readFileSync(join(dest, 'link/b.txt'), 'utf8')).toBe('b');
}

function tarball() {
  const name = readdirSync(temp).find((name) => name.endsWith('.tgz'));
  if (!name) throw new Error(`no tarball in ${temp}`);
  return join(temp, name);
}

/** Runs a command as a user would: not inside npm, and with nothing on the PATH but Node and a shell. */
function run(command: string, args: string[], cwd = app, path = barePath()) {
  const timeout = cwd === root ? 9 * minutes : minutes;
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|PREBUILD|ZIG)/i.test(name),
  );
  const env = { ...Object.fromEntries(outside), PATH: path };
  // vitest's own timeouts cannot interrupt a synchronous call.
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
    killSignal: 'SIGKILL',
  });
}

function barePath() {
  const bin = join(temp, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const name of ['node', 'npm', 'npx', 'sh'].filter((n) => !readdirSync(bin).includes(n))) {
    symlinkSync(name === 'node' ? process.execPath : which(name), join(bin, name));
  }
  return bin;
}

function which(name: string) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const folder = folders.find((folder) => {
    try {
      return readdirSync(folder).includes(name);
    } catch {
      return false;
    }
  });
  if (!folder) throw new Error(`${name} is not on the PATH`);
  return join(folder, name);
}
