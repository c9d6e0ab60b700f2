import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Results } from '../../bench/results.js';
import { hasTool, skip, workDirectory } from '../support/work.js';

// The benchmark itself, on benchmarks that take a second and need no package from elsewhere.

const program = join(import.meta.dirname, '../../build/bench.mjs');
const work = workDirectory('bench');

function bench(variables: Record<string, string>, ...args: string[]) {
  const env = { ...process.env, FASTCP_CACHE: work, ...variables };
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', env });
}

test('command and library, from the mount to the verdict', (context) => {
  if (!hasTool('cc')) skip(context, 'cc is not installed');
  const output = join(work, 'results.json');
  const only = ['hundred', 'library-small', 'cp', 'node-cpSync'].flatMap((name) => [
    '--only',
    name,
  ]);
  const ended = bench({}, ...only, '--rounds', '2', '--output', output);
  expect(ended).toMatchObject({ status: 0 });
  expect(ended.stdout).toMatch(/^\| +\| cp -r \S+ +\| +[\d.]+ ms /m);
  expect(ended.stdout).toMatch(/^\| hundred\/tmpfs .*; time above node -e 0: -?[\d.]+ ms/m);

  const { benchmarks } = JSON.parse(readFileSync(output, 'utf8')) as Results;
  expect(benchmarks.map(({ id }) => id)).toEqual(['library-small/tmpfs', 'hundred/tmpfs']);
  const [library, command] = benchmarks;
  expect(Object.keys(command?.trials ?? {})).toEqual(['fastcp', 'node', 'cp']);
  expect(Object.keys(library?.trials ?? {})).toEqual(['fastcp-library', 'node-cpSync']);
  for (const { trials } of benchmarks) {
    for (const list of Object.values(trials)) {
      expect(list).toHaveLength(2);
      for (const trial of list) {
        expect(trial).not.toHaveProperty('failed');
        expect(trial).not.toHaveProperty('flaw');
        expect(trial.wallMs).toBeGreaterThan(0);
        expect(trial.cpuMs).toBeGreaterThan(0);
        expect(trial.peakKiB).toBeGreaterThan(500);
      }
    }
  }
  expect(library?.trials['fastcp-library']?.[0]?.inProcessMs).toBeGreaterThan(0);
  // Nothing is left but what was compiled.
  expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(work);
  const left = execFileSync('find', [work, '-type', 'f', '-printf', '%f\\n'], { encoding: 'utf8' });
  expect(left.split('\n').sort()).toEqual(['', 'measure', 'results.json']);
});

test('what cannot be had is said, with how to get it', (context) => {
  if (!hasTool('cc')) skip(context, 'cc is not installed');
  const directories = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  if (directories.some((directory) => existsSync(join(directory, 'cargo')))) {
    skip(context, 'cargo is where every tool is');
  }
  const PATH = directories.join(delimiter);
  const ended = bench({ PATH }, '--only', 'hundred', '--only', 'cpz', '--rounds', '1');
  const reason = 'cargo is not installed: https://rustup.rs';
  const line = `skipped: cpz: ${reason}`;
  expect(ended).toMatchObject({ status: 0, stderr: expect.stringContaining(line) });
  expect(ended.stdout).toMatch(new RegExp(`\\| cpz .*\\| skipped: ${reason} \\|$`, 'm'));
});

test('wrong usage', () => {
  expect(bench({}, '--only', 'nothing')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("'nothing'"),
  });
});
