import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CommanderError } from 'commander';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseScalingArgs, scalingWords } from '../../bench/scaling/args.js';
import { type ScalingResult, scalingTable } from '../../bench/scaling/table.js';
import { countPlan, makePlanned, planTree } from '../../bench/scaling/tree.js';
import { countTree } from '../../bench/trees.js';
import { hasTool, skip, workDirectory } from '../support/work.js';
import { trial } from './support/results.js';

const root = join(import.meta.dirname, '../..');
const work = workDirectory('bench-scaling');
const bin = join(work, 'bin');
const bare = join(work, 'bare');
const small = ['--scale', '0.01', '--workers', '1,2', '--rounds', '1', '--only', 'tmpfs'];

afterEach(() => vi.restoreAllMocks());

describe('wrong usage names what is wrong', () => {
  test.each([
    ['--workers 0', "'0'"],
    ['--workers 1,two', "'two'"],
    ['--workers 257', "'257'"],
    ['--rounds 0', "'--rounds <n>' argument '0'"],
    ['--only tmpfs,btrfs', "'btrfs'"],
    ['--scale 0', "'--scale <share>' argument '0'"],
    ['--scale 1.1', "'--scale <share>' argument '1.1'"],
    ['--quick', "'--quick'"],
  ])('%s', (line, complaint) => {
    const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(() => parseScalingArgs(line.split(' '))).toThrow(CommanderError);
    expect(printed.mock.calls.join('')).toContain(complaint);
  });

  test('the exit code', () => {
    const ended = spawnSync(process.execPath, [
      ...[join(root, 'build/bench.mjs'), '--scaling', '--workers', '0'],
    ]);
    expect(ended.status).toBe(2);
  });
});

test('options', () => {
  expect(scalingWords(['--quick'])).toBeUndefined();
  const words = scalingWords(['--workers', '3,1', '--scaling', '--bin', 'a', '--bin', 'b']) ?? [];
  expect(parseScalingArgs(words)).toMatchObject({
    ...{ workers: [3, 1], rounds: 3, scale: 1, bin: ['a', 'b'], json: false },
    fileSystems: [{ name: 'tmpfs' }, { name: 'ext4' }, { name: 'xfs' }],
  });
});

test('the tree is that of a real node_modules, and always the same', () => {
  const { files, directories, symlinks } = planTree(1);
  const upTo = (bytes: number): number =>
    Math.round((100 * files.filter((file) => file.bytes <= bytes).length) / files.length);
  expect([1024, 4096, 65_536].map(upTo)).toEqual([66, 87, 97]);
  expect(Math.max(...files.map(({ bytes }) => bytes))).toBeGreaterThan(2 ** 20);
  expect(Math.max(...directories.map((path) => path.split('/').length))).toBe(12);
  const entries = [...files.map(({ path }) => path), ...directories, ...symlinks];
  expect(new Set(entries).size).toBe(entries.length);
  const widths = new Map<string, number>();
  for (const path of entries) {
    const parent = join(path, '..');
    widths.set(parent, (widths.get(parent) ?? 0) + 1);
  }
  expect(Math.max(...widths.values())).toBe(1700);
  expect(planTree(0.1)).toEqual(planTree(0.1));
});

test.each([0.01, 0.000_001])('a tree is made as it was planned, scaled to %d', (scale) => {
  const plan = planTree(scale);
  const path = join(work, `tree-${scale}`);
  makePlanned(plan, path);
  expect(countTree(path)).toEqual(countPlan(plan));
});

test('the table: medians, ranges and ratios; failures; who is absent has no line', () => {
  const times: [string, number, number[]][] = [
    ['command', 1, [300, 100, 200]],
    ['cpz', 1, [100]],
    ['command', 2, [50]],
    ['node -e 0', 1, [40]],
  ];
  const trials: ScalingResult['trials'] = times.flatMap(([tool, workers, list]) =>
    list.map((ms) => ({ ...trial(ms), tool, workers })),
  );
  trials.push({ ...trial(1), tool: 'cpz', workers: 2, failed: 'exit code 1' });
  trials.push({ ...trial(9, { inProcessMs: 5, cpuMs: Number.NaN }), tool: 'library', workers: 1 });
  const lines = scalingTable({ fileSystem: 'tmpfs', trials }, [1, 2]).split('\n');
  expect(lines.map((line) => line.replace(/ +/g, ' '))).toEqual([
    '| tool | 1 | 2 |',
    expect.stringMatching(/^\| -+ \| -+: \| -+: \|$/),
    '| command | 0.200 (0.100–0.300), CPU 0.200, 2.00 x | 0.050 (0.050–0.050), CPU 0.050 |',
    '| library | 0.005 (0.005–0.005), 0.05 x | |',
    '| cpz | 0.100 (0.100–0.100), CPU 0.100 | exit code 1 |',
    '| node -e 0 | 0.040 (0.040–0.040), CPU 0.040 | |',
  ]);
});

describe('on a bare machine', () => {
  const program = join(bare, 'build/bench-scaling.mjs');
  const env = { PATH: '/usr/bin:/bin' };

  beforeAll(() => {
    for (const name of ['dist', 'build/bench-scaling.mjs', 'build/Release', 'prebuilds']) {
      if (existsSync(join(root, name)))
        cpSync(join(root, name), join(bare, name), { recursive: true });
    }
    mkdirSync(bin);
    if (!hasTool('cc')) return;
    for (const name of ['measure', 'floor', 'own-tables']) {
      const source = join(root, `bench/${name}/${name}.c`);
      execFileSync('cc', ['-O2', '-pthread', '-o', join(bin, name), source]);
    }
  });

  test('with some binaries', (context) => {
    if (!hasTool('cc')) skip(context, 'cc is not installed');
    const args = [program, '--bin', bin, ...small];
    const ended = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    expect(ended).toMatchObject({ status: 0 });
    expect(ended.stderr.match(/^left out: .*/gm)).toEqual(
      ['cpz', 'fcp'].map((name) => `left out: ${name}: it is not in ${bin}`),
    );
    expect(ended.stdout).toContain('\n### tmpfs\n');
    expect(ended.stdout.match(/^\| [a-z].*\d s?.*CPU.*CPU.*/gm)).toHaveLength(5);
    const names = ended.stdout.match(/(?<=^\| )[a-z][\w -]*?(?= +\|)/gm);
    expect(names).toEqual(['tool', 'command', 'library', 'floor', 'own-tables', 'node -e 0']);
  });

  test('with none: no CPU time', () => {
    const args = [program, '--bin', work, ...small];
    const ended = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    expect(ended).toMatchObject({ status: 0 });
    expect(ended.stderr).toContain(`left out: CPU time: measure is not in ${work}\n`);
    const names = ended.stdout.match(/(?<=^\| )[a-z][\w -]*?(?= +\|)/gm);
    expect(names).toEqual(['tool', 'command', 'library', 'node -e 0']);
    expect(ended.stdout).not.toContain('NaN');
  });

  test('whoever interrupts it finds nothing left', async () => {
    const args = [program, '--bin', work, '--scale', '0.01', '--rounds', '1000', '--only', 'tmpfs'];
    const child = spawn(process.execPath, args, { env: { ...env, FASTCP_CACHE: work } });
    const printed = text(child.stdout);
    await once(child.stderr, 'data'); // who is left out
    child.stderr.resume();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(await printed).toBe('');
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(work);
  });
});

test('npm run bench prepares it: raw numbers', (context) => {
  if (!hasTool('cc')) skip(context, 'cc is not installed');
  const directories = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  if (directories.some((directory) => existsSync(join(directory, 'cargo')))) {
    skip(context, 'cargo is where every tool is');
  }
  const env = { ...process.env, FASTCP_CACHE: work, PATH: directories.join(delimiter) };
  const args = [join(root, 'build/bench.mjs'), '--scaling', ...small, '--json'];
  const ended = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  expect(ended).toMatchObject({ status: 0 });
  expect(ended.stderr).toContain('skipped: cpz: cargo is not installed');
  const { results } = JSON.parse(ended.stdout) as { results: ScalingResult[] };
  const trials = results.flatMap((result) => result.trials);
  expect(results.map(({ fileSystem }) => fileSystem)).toEqual(['tmpfs']);
  expect(new Set(trials.map(({ tool, workers }) => `${tool} ${workers}`)).size).toBe(10);
  for (const one of trials) {
    expect(one).not.toHaveProperty('failed');
    expect(one).not.toHaveProperty('flaw');
    expect(one.wallMs).toBeGreaterThan(0);
    expect(one.cpuMs).toBeGreaterThan(0);
    if (one.tool === 'library') expect(one.inProcessMs).toBeGreaterThan(0);
  }
});
