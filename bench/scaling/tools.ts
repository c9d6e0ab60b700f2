import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../paths.js';
import { which } from '../shell.js';
import type { Tool } from '../tools.js';

/** What the ratios are to. */
export const reference = 'cpz';
export const start = 'node -e 0';

const node = process.execPath;

/** Copies once, and prints what measure() reads. */
const callLibrary = `
const [library, src, dest, workers] = process.argv.slice(1);
const { copyTree } = await import(library);
const start = performance.now();
await copyTree(src, dest, { concurrency: Number(workers) });
console.log(JSON.stringify({ inProcessMs: performance.now() - start }));`;

type Command = (src: string, dest: string, workers: number) => string[];

/** Absent binaries are left out. cpz and fcp have no option for it: as many threads as the cores that they may use. */
const commands: Record<string, { role: Tool['role']; binary?: string; command: Command }> = {
  command: {
    role: 'ours',
    command: (src, dest, workers) => [
      node,
      join(root, 'dist/fastcp.cjs'),
      ...['--jobs', String(workers), src, dest],
    ],
  },
  library: {
    role: 'ours',
    command: (src, dest, workers) => [
      'env',
      `UV_THREADPOOL_SIZE=${workers + 1}`, // as the command sets it for itself
      ...[node, '--input-type=module', '--eval', callLibrary, '--'],
      ...[pathToFileURL(join(root, 'dist/index.js')).href, src, dest, String(workers)],
    ],
  },
  cpz: { role: 'peer', binary: 'cpz', command: (src, dest) => [src, dest] },
  fcp: { role: 'peer', binary: 'fcp', command: (src, dest) => [src, dest] },
  floor: { role: 'limit', binary: 'floor', command: threads },
  'own-tables': { role: 'limit', binary: 'own-tables', command: threads },
  [start]: { role: 'start', command: () => [node, '-e', '0'] },
};

function threads(src: string, dest: string, workers: number): string[] {
  return ['-t', String(workers), src, dest];
}

export const toolNames = Object.keys(commands);
export const isOurs = (name: string): boolean => commands[name]?.role === 'ours';

/** Where a binary is, or undefined. */
export function findBinary(name: string, directories: readonly string[]): string | undefined {
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

/** The tools that can be had with this number of workers, confined to as many cores. */
export function toolsOf(workers: number, bin: readonly string[]): Tool[] {
  const confined = which('taskset')
    ? ['taskset', '--cpu-list', allowedCores().slice(0, workers).join(',')]
    : [];
  return Object.entries(commands).flatMap(([name, { role, binary, command }]): Tool[] => {
    const program = binary === undefined ? [] : findBinary(binary, bin);
    if (program === undefined) return [];
    return [
      {
        name,
        title: name,
        role,
        ...(role === 'start' && { copies: false }),
        command: (src, dest) => [...confined, ...[program].flat(), ...command(src, dest, workers)],
      },
    ];
  });
}

/** What is said once: who and what is left out. */
export function lacking(bin: readonly string[]): string[] {
  const binaries = Object.values(commands).flatMap(({ binary }) => binary ?? []);
  const where = bin.join(' or ');
  return [
    ...binaries
      .filter((binary) => !findBinary(binary, bin))
      .map((binary) => `left out: ${binary}: it is not in ${where}`),
    ...(findBinary('measure', bin) ? [] : [`left out: CPU time: measure is not in ${where}`]),
    ...(which('taskset') ? [] : ['not confined to cores: taskset is not installed']),
  ];
}

/** The numbers of the cores that this process may use: `0-3,8` are five. */
function allowedCores(): number[] {
  const status = readFileSync('/proc/self/status', 'utf8');
  const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)/m.exec(status) ?? [];
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
