import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environment } from '../bin/support/fastcp.js';
import { Random } from '../selection/support/random.js';
import { seed, size } from '../support/form.js';
import { needToolHere, workDirectory } from '../support/work.js';

// What docs/recipes.md says, done: commands and programs are taken from the page itself.

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/recipes.md'), 'utf8');
const work = workDirectory('recipes');

// fastcp as if it were installed, also for `npx fastcp`.
const bin = join(work, 'bin');
write(join(bin, 'npx'), '#!/bin/sh\nexec "$@"\n');
chmodSync(join(bin, 'npx'), 0o755);
symlinkSync(join(root, 'dist/fastcp.cjs'), join(bin, 'fastcp'));
mkdirSync(join(work, 'node_modules'));
symlinkSync(root, join(work, 'node_modules/fastcp'));

test('a cache of node_modules', () => {
  const cwd = join(work, 'cached');
  write(join(cwd, 'lib/index.js'), '');
  write(join(cwd, 'lib/package.json'), '{ "name": "lib", "version": "1.0.0" }');
  write(join(cwd, 'package.json'), '{ "dependencies": { "lib": "file:lib" } }');
  shell('npm install --package-lock-only --ignore-scripts --offline', cwd);
  const [recipe = ''] = blocks('A cache of node_modules', 'sh');
  const env = { CACHE: join(work, 'cache/of') };
  shell(recipe, cwd, env);
  const [name = ''] = readdirSync(env.CACHE);
  expect(name).toMatch(/^node_modules-[0-9a-f]{16}$/);
  const installed = readdirSync(join(cwd, 'node_modules'), { recursive: true }).sort();
  expect(installed).toContain('lib');

  write(join(cwd, 'node_modules/stale'), '');
  expect(shell(recipe, cwd, env)).toContain('1 deleted');
  expect(readdirSync(join(cwd, 'node_modules'), { recursive: true }).sort()).toEqual(installed);
});

test('the cache, by four jobs at once of which some are killed, and evicted meanwhile: each job that ends has the whole tree', {
  timeout: 120_000,
}, async () => {
  needToolHere('flock');
  const room = join(work, 'jobs');
  const first = join(room, 'first');
  for (let i = 0; i < 300; i++) write(join(first, `lib/${i % 20}/${i}.js`), `${i}`);
  write(join(first, 'lib/package.json'), '{ "name": "lib", "version": "1.0.0" }');
  write(join(first, 'package.json'), '{ "dependencies": { "lib": "file:lib" } }');
  shell('npm install --package-lock-only --ignore-scripts --offline', first);
  // What npm does is not tested here, and takes a second.
  write(join(room, 'bin/npm'), '#!/bin/sh\nmkdir -p node_modules && cp -r lib node_modules/\n');
  chmodSync(join(room, 'bin/npm'), 0o755);
  const [recipe = '', eviction = ''] = blocks('A cache of node_modules', 'sh');
  const evict = eviction.replace(/-mtime \+\d+/, '');
  expect(evict).not.toBe(eviction);
  const CACHE = join(room, 'cache');
  mkdirSync(CACHE);
  const env = {
    ...environment(),
    PATH: [join(room, 'bin'), bin, process.env.PATH].join(delimiter),
    CACHE,
  };
  const wanted = readdirSync(join(first, 'lib'), { recursive: true }).sort();
  const random = new Random(seed);
  console.info(`recipes: jobs at once, FASTCP_SEED=${seed}`);
  for (let round = 0; round < size(2, 8); round++) {
    const jobs = [1, 2, 3, 4].map(async (job) => {
      const cwd = join(room, `${round} ${job}`);
      execFileSync('cp', ['-r', first, cwd]);
      if (random.chance(50))
        execFileSync('cp', ['-r', join(cwd, 'lib'), join(cwd, 'node_modules')]);
      const isKilled = random.chance(25);
      const child = spawn('sh', ['-ec', recipe], {
        cwd,
        env,
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.on('data', (piece) => {
        said += piece;
      });
      const closed = once(child, 'close');
      const timer =
        isKilled && setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), random.below(400));
      const [status] = await closed;
      if (timer) clearTimeout(timer);
      if (status === null) return;
      expect({ status, said }, `FASTCP_SEED=${seed} round ${round}`).toMatchObject({ status: 0 });
      expect(readdirSync(join(cwd, 'node_modules/lib'), { recursive: true }).sort()).toEqual(
        wanted,
      );
    });
    const evicted =
      round % 2 ? once(spawn('sh', ['-c', evict], { env, stdio: 'ignore' }), 'close') : [];
    await Promise.all([...jobs, evicted]);
    for (const name of readdirSync(CACHE).filter((one) => one.startsWith('node_modules-'))) {
      expect(readdirSync(join(CACHE, name, 'lib'), { recursive: true }).sort()).toEqual(wanted);
    }
  }
});

test('a new worktree', () => {
  const cwd = join(work, 'repository');
  write(join(cwd, '.gitignore'), 'node_modules\n.env\n.worktrees\n');
  write(join(cwd, 'package.json'), '{}');
  write(join(cwd, 'index.js'), '');
  needToolHere('git');
  const settings = '-c user.name=a -c user.email=a@example.org';
  shell(`git init -q && git add . && git ${settings} commit -q -m first`, cwd);
  write(join(cwd, '.env'), 'SECRET=1');
  shell(`npm install --no-save --no-package-lock --ignore-scripts --offline ${root}`, cwd);
  write(join(cwd, 'node_modules/a/index.js'), '');
  write(join(cwd, 'untracked'), '');
  const expectFilled = (fix: string): void => {
    expect(readFileSync(join(fix, '.env'), 'utf8')).toBe('SECRET=1');
    expect(existsSync(join(fix, 'node_modules/a/index.js'))).toBe(true);
    expect(existsSync(join(fix, 'untracked'))).toBe(false);
    expect(shell('git status --porcelain', fix)).toBe('');
  };
  const [byHand = '', hook = '', mac = ''] = blocks('A new worktree that works at once', 'sh');
  shell(byHand, cwd);
  expectFilled(join(work, 'fix'));
  shell('git worktree remove --force ../fix; git branch -D fix', cwd);
  // Elsewhere a snapshot of a directory is not possible.
  shell(mac.replace('--snapshot', '--snapshot=auto'), cwd);
  expectFilled(join(work, 'fix'));

  const path = join(cwd, '.git/hooks/post-checkout');
  write(path, hook);
  chmodSync(path, 0o755);
  expect(hook).not.toContain('npx'); // it would ask the registry
  shell('git worktree add .worktrees/one', cwd);
  expectFilled(join(cwd, '.worktrees/one'));
  shell('git worktree add ../../../two', join(cwd, '.worktrees/one'));
  expectFilled(join(work, 'two'));
  expect(shell('git checkout -b other 2>&1', cwd)).not.toContain('Copied');
  expect(shell('git clone -q . ../clone 2>&1', cwd)).not.toContain('Copied');
});

test('one package of a monorepo', () => {
  const cwd = join(work, 'monorepo');
  write(join(cwd, '.gitignore'), 'node_modules\ndist\n');
  write(join(cwd, 'packages/app/index.js'), "console.log(require('@acme/shared'))");
  write(join(cwd, 'packages/app/dist/old.js'), '');
  write(join(cwd, 'packages/shared/index.js'), "module.exports = 'shared'");
  write(join(cwd, 'packages/shared/node_modules/dev/index.js'), '');
  mkdirSync(join(cwd, 'node_modules/@acme'), { recursive: true });
  symlinkSync('../../packages/shared', join(cwd, 'node_modules/@acme/shared'));
  needToolHere('git');
  shell('git init -q', cwd);
  shell(blocks('One package of a monorepo, by itself', 'sh')[0], cwd);
  const isolated = join(work, 'isolated');
  expect(shell('node index.js', isolated)).toBe('shared\n');
  expect(existsSync(join(isolated, 'dist'))).toBe(false);
  const shared = join(isolated, 'node_modules/@acme/shared');
  expect(lstatSync(shared).isDirectory()).toBe(true);
  expect(readdirSync(shared)).toEqual(['index.js']);
});

describe('a plugin', () => {
  const [plugin = '', config = ''] = blocks('A plugin for Vite and Rollup', 'js');

  test.each([
    ['rollup', 'rollup/dist/bin/rollup', ['--config', '--input', 'main.js', '--dir', 'dist']],
    ['vite', 'vite/bin/vite.js', ['build']],
  ])('for %s', (name, program, args) => {
    const cwd = join(work, name);
    write(join(cwd, 'package.json'), '{ "type": "module" }');
    write(join(cwd, 'copy-directory.js'), plugin);
    write(join(cwd, `${name}.config.js`), config);
    write(join(cwd, 'main.js'), 'console.log(1)');
    write(join(cwd, 'index.html'), '<script type="module" src="main.js"></script>');
    write(join(cwd, 'assets/icons/a.svg'), '<svg/>');
    write(join(cwd, 'assets/icons/a.psd'), '');
    execFileSync(process.execPath, [join(root, 'node_modules', program), ...args], {
      cwd,
      stdio: 'pipe',
    });
    expect(readdirSync(join(cwd, 'dist')).length).toBeGreaterThan(1);
    expect(readdirSync(join(cwd, 'dist/assets/icons'))).toEqual(['a.svg']);
  });
});

test('a deployment', () => {
  const cwd = join(work, 'deployment');
  write(join(cwd, 'dist/a'), 'a');
  write(join(cwd, 'dist/b'), 'b');
  const current = join(cwd, 'srv/current');
  const [whole = '', steps = ''] = blocks('A deployment in one step', 'sh');
  const recipe = whole.replace('/srv/app/current', current);
  shell(recipe, cwd);
  write(join(cwd, 'dist/b'), 'new');
  write(join(current, 'gone'), '');
  shell(recipe, cwd);
  expect(readdirSync(current).sort()).toEqual(['a', 'b']);
  expect(readFileSync(join(current, 'b'), 'utf8')).toBe('new');

  write(join(cwd, 'dist/b'), 'old');
  shell('mkdir releases; fastcp -a dist releases/1; ln -s 1 releases/current', cwd);
  write(join(cwd, 'dist/b'), 'new');
  chmodSync(join(cwd, 'dist/a'), 0o600);
  write(join(cwd, 'dist/c'), 'c');
  shell(steps, cwd);
  const release = (name: string, file: string): string => join(cwd, 'releases', name, file);
  const look = (name: string): string[] =>
    ['b', 'c'].map((file) =>
      existsSync(release(name, file)) ? readFileSync(release(name, file), 'utf8') : '',
    );
  expect([look('1'), look('current')]).toEqual([
    ['old', ''],
    ['new', 'c'],
  ]);
  expect(['1', 'current'].map((name) => statSync(release(name, 'a')).mode & 0o777)).toEqual([
    0o644, 0o600,
  ]);
});

test('progress in a program', () => {
  const cwd = join(work, 'program');
  write(join(cwd, 'program.mjs'), blocks('Progress in a program of your own', 'js')[0]);
  for (let file = 0; file < 500; file++) write(join(cwd, `node_modules/${file % 9}/${file}`), '');
  expect(shell('node program.mjs', cwd)).toMatch(/^(?:\d+ of \d+ so far\n)+500 files in \d+/);
});

describe('shards', () => {
  const yaml = blocks('Shards', 'yaml');
  const actions = /run: (.*)/.exec(yaml[0] ?? '')?.[1]?.replace(/\$\{\{.*?\}\}/, '$SHARD');
  const slurm = blocks('Shards', 'sh')[0];
  const kubernetes = /'(.*)'/.exec(yaml[1] ?? '')?.[1];

  test.each<[string, string | undefined, number, (shard: number) => Record<string, string>]>([
    ['actions', actions, 4, (shard) => ({ SHARD: `${shard}` })],
    [
      'slurm',
      slurm,
      8,
      (shard) => ({ SLURM_ARRAY_TASK_ID: `${shard}`, SLURM_ARRAY_TASK_COUNT: '8' }),
    ],
    ['kubernetes', kubernetes, 4, (shard) => ({ JOB_COMPLETION_INDEX: `${shard - 1}` })],
  ])('%s', (name, command, count, env) => {
    const cwd = join(work, name);
    for (let file = 0; file < 64; file++) write(join(cwd, `mnt/src/${file % 5}/${file}`), '');
    for (let shard = 1; shard <= count; shard++) {
      shell(command?.replaceAll('/mnt/', `${cwd}/mnt/`), cwd, env(shard));
    }
    const list = (tree: string) => readdirSync(join(cwd, 'mnt', tree), { recursive: true }).sort();
    expect(list('dest')).toEqual(list('src'));
  });
});

/** The blocks of code in that language under a heading. */
function blocks(heading: string, language: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const found = section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'));
  return [...found].map(([, code = '']) => code);
}

function shell(script: string | undefined, cwd: string, env: Record<string, string> = {}): string {
  if (!script) throw new Error('docs/recipes.md lacks it');
  return execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, ...env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
  });
}

function write(path: string, content = ''): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
