// Runs fastcp inside the programs of other people: embedding.mjs [--quick] [--tarball FILE] [PART OF A ROW'S NAME…]. Each row of
// the table is a small project with the packed package. Prints what is expected and what happened. --quick leaves out what
// is like another row. `npm run test:embedding` installs the tools first, pinned by the lock file beside this script.
import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
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
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheDirectory } from '../../scripts/tools.mjs';
import { rows } from './rows.mjs';

const root = join(import.meta.dirname, '../..');
const tools = join(cacheDirectory, 'embedding/node_modules');
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean' }, tarball: { type: 'string' } },
  allowPositionals: true,
});

const work = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'fastcp-embedding-'));
const app = join(work, 'app');
const counts = { passed: 0, failed: 0, skipped: 0 };
function pack() {
  execFileSync(process.execPath, [join(root, 'scripts/prebuild.mjs'), '--ci', '--if-stale'], {
    stdio: ['ignore', 2, 2],
  });
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', work];
  return join(work, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim());
}

/** Unpacks the package as npm does: it has no dependencies. The tools are symlinks beside it. */
function install(tarball) {
  const modules = join(app, 'node_modules');
  mkdirSync(join(modules, 'fastcp'), { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', join(modules, 'fastcp'), '--strip-components=1']);
  for (const name of readdirSync(tools)) symlinkSync(join(tools, name), join(modules, name));
  cpSync(join(import.meta.dirname, 'exercise.cjs'), join(app, 'exercise.cjs'));
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true }');
}

async function tryOne({ name, quick = true, expected = 'works', fails, needs, project }) {
  const isChosen = positionals.length === 0 || positionals.some((part) => name.includes(part));
  if (!isChosen || (values.quick && !quick)) return;
  const directory = join(app, name.replace(/\W+/g, '-'));
  mkdirSync(directory);
  const began = performance.now();
  let happened;
  if (needs && !existsSync(needs)) happened = undefined;
  else
    happened = await project(new Project(directory)).catch((error) => `failed: ${error.message}`);
  const seconds = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  const isRight = expected instanceof RegExp ? expected.test(happened) : happened === expected;
  // `fails` says why a row is still expected to fail. It fails when it passes, so that the row is changed then.
  const outcome = happened === undefined ? 'skipped' : isRight === !fails ? 'passed' : 'failed';
  counts[outcome] += 1;
  console.log(`${outcome}: ${name} (${seconds})`);
  console.log(`    expected: ${expected}${fails ? `, but not yet: ${fails}` : ''}`);
  console.log(`    happened: ${happened ?? `${relative(cacheDirectory, needs)} is not there`}`);
}

class Project {
  constructor(directory) {
    this.directory = directory;
    this.app = app;
    this.package = join(app, 'node_modules/fastcp');
  }

  path(...names) {
    return join(this.directory, ...names);
  }

  write(files) {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(this.path(name)), { recursive: true });
      writeFileSync(
        this.path(name),
        typeof content === 'string' ? content : JSON.stringify(content),
      );
    }
  }

  /** Runs a program to its end. npm's variables are those of this run, not of the user's. */
  run(words, { env = {}, cwd = this.directory, seconds = 60 } = {}) {
    const outside = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|NODE_|PREBUILD|FASTCP_)/i.test(name),
    );
    const variables = { ...Object.fromEntries(outside), NO_COLOR: '1', CI: 'true', ...env };
    return new Promise((resolve) => {
      const [program, ...args] = words;
      const child = spawn(program, args, {
        cwd,
        env: variables,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      const output = [];
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data) => output.push(data));
      const end = () => process.kill(-child.pid, 'SIGKILL');
      const timer = setTimeout(end, seconds * 1000);
      child.on('close', (status, signal) => {
        clearTimeout(timer);
        resolve({ status, signal, output: Buffer.concat(output).toString() });
      });
    });
  }

  /** Runs a program that prints one line, or throws. */
  async said(words, options) {
    const { output } = await this.run(words, options);
    return /^\s*at /m.test(output) ? firstLine(output) : output.trim();
  }

  /** Runs a program that calls exercise(). Returns `works`, or what failed. */
  async exercised(words, options = {}) {
    const { status, signal, output } = await this.run(words, { seconds: 40, ...options });
    const file = this.path('exercised.json');
    if (!existsSync(file)) return `status ${status ?? signal}: ${firstLine(output)}`;
    const failed = JSON.parse(readFileSync(file, 'utf8'));
    if (failed.length > 0) return failed.join('; ');
    return status === 0 ? 'works' : `status ${status ?? signal}: ${firstLine(output)}`;
  }

  /** Runs a program that copies by `copies()`. */
  async copied(words, options = {}) {
    const dest = this.path('dest');
    this.write({ 'src/deep/b.txt': 'b' });
    const { status, signal, output } = await this.run([...words, this.path('src'), dest], options);
    const there = ['1', '2', '3'].filter((one) => existsSync(join(dest, one, 'deep/b.txt')));
    if (status === 0 && there.length === 3) return 'works';
    return `status ${status ?? signal}: ${firstLine(output)}`;
  }
}

/** The line with the error, where a stack begins with the source. */
function firstLine(output) {
  const lines = output.split('\n').map((line) => line.trim());
  const isError = (line) =>
    /^(\S*: )?\[?\w*Error\b|^error: |^✘|fastcp (was|has|cannot)/i.test(line);
  return lines.find(isError) ?? lines.find(Boolean) ?? '';
}

try {
  install(values.tarball ?? pack());
  for (const row of rows) await tryOne(row);
} finally {
  rmSync(work, { recursive: true, force: true });
}
const { passed, failed, skipped } = counts;
console.log(
  [`${passed} passed`, `${failed} failed`, ...(skipped ? [`${skipped} skipped`] : [])].join(', '),
);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
