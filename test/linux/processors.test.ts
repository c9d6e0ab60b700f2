import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { makeFiles } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

// How many processors the engine counts, by files as the kernel shows them.

const source = join(import.meta.dirname, '../../binding/src');
const work = workDirectory('processors');
const program = join(work, 'processors');

beforeAll(() => {
  if (process.platform !== 'linux') return;
  const flags = ['-std=c++20', '-Wall', '-Wextra', '-Werror', `-I${source}`];
  const sources = [
    join(import.meta.dirname, 'support/processors.cc'),
    join(source, 'platform/linux/processors.cc'),
  ];
  execFileSync('g++', [...flags, '-o', program, ...sources]);
}, 60_000);

const group = '/sys/fs/cgroup';
const v2 = { 'proc/self/cgroup': '0::/app/worker\n' };
const v1 = { 'proc/self/cgroup': '9:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n' };
const split = { 'proc/self/cgroup': '2:cpuacct:/\n1:cpu:/app\n0::/\n' };
const quota = (directory: string, us: number): Record<string, string> => ({
  [`${group}/${directory}/cpu.cfs_quota_us`]: `${us}\n`,
  [`${group}/${directory}/cpu.cfs_period_us`]: '100000\n',
});

const cases: [name: string, processors: number, files: Record<string, string>, counted: number][] =
  [
    ['no groups at all', 8, {}, 8],
    ['version 2, no limit', 8, { ...v2, [`${group}/app/worker/cpu.max`]: 'max 100000\n' }, 8],
    ['version 2, two', 8, { ...v2, [`${group}/app/worker/cpu.max`]: '200000 100000\n' }, 2],
    [
      'version 2, one and a half',
      8,
      { ...v2, [`${group}/app/worker/cpu.max`]: '150000 100000\n' },
      2,
    ],
    ['version 2, a tenth', 8, { ...v2, [`${group}/app/worker/cpu.max`]: '10000 100000\n' }, 1],
    [
      'version 2, more than there are',
      2,
      { ...v2, [`${group}/app/worker/cpu.max`]: '900000 100000\n' },
      2,
    ],
    [
      'version 2, a group above has less',
      8,
      {
        ...v2,
        [`${group}/app/worker/cpu.max`]: '400000 100000\n',
        [`${group}/app/cpu.max`]: '3 1\n',
      },
      3,
    ],
    [
      'version 2, a namespace of its own',
      8,
      { 'proc/self/cgroup': '0::/\n', [`${group}/cpu.max`]: '4 1\n' },
      4,
    ],
    ['version 1', 8, { ...v1, ...quota('cpu,cpuacct/docker/abc', 300_000) }, 3],
    ['version 1, no limit', 8, { ...v1, ...quota('cpu,cpuacct/docker/abc', -1) }, 8],
    ['version 1, the path is the host’s', 8, { ...v1, ...quota('cpu,cpuacct', 200_000) }, 2],
    [
      'version 1, cpu alone',
      8,
      { ...split, ...quota('cpu/app', 500_000), ...quota('cpuacct', 1) },
      5,
    ],
    ['more than a set of 1,024', 1500, {}, 1500],
    ['more than a set of 4,096', 6000, {}, 6000],
  ];

test.for(cases)('%s', ([name, processors, files, counted], context) => {
  needTool(context, 'g++');
  const root = makeFiles(join(work, name), { there: '', ...files });
  expect(execFileSync(program, [root, `${processors}`], { encoding: 'utf8' })).toBe(`${counted}`);
});
