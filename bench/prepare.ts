import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileSystem } from './file-systems.js';
import { mountObstacle } from './namespace.js';
import { benchCache, corpus, ownCorpus, root } from './paths.js';
import type { Benchmark } from './plan.js';
import { showing, which } from './shell.js';
import type { Tool } from './tools.js';

/** What cannot be had here, and why, with how to get it. */
export interface Obstacles {
  tools: Map<string, string>;
  fileSystems: Map<string, string>;
  /** Of the corpus. */
  corpus?: string;
}

/** Builds and downloads what the benchmarks need and the cache does not have. */
export function prepare(benchmarks: Benchmark[]): Obstacles {
  for (const built of ['dist/fastcp.cjs', 'dist/index.js', 'build/bench-in-process.mjs']) {
    if (!existsSync(join(root, built))) throw new Error(`${built} is missing: npm run build`);
  }
  compile('bench/measure/measure.c');
  const tools = new Map<string, string>();
  const needed = new Set(benchmarks.flatMap((benchmark) => benchmark.tools));
  const peers = attempt(() => {
    if ([...needed].some(({ from }) => from && 'npm' in from)) install('peers');
  });
  for (const tool of needed) {
    const obstacle = obstacleTo(tool, peers);
    if (obstacle) tools.set(tool.name, obstacle);
  }
  const fileSystems = new Map<string, string>();
  for (const fileSystem of new Set(benchmarks.map((benchmark) => benchmark.fileSystem))) {
    const obstacle = obstacleOf(fileSystem);
    if (obstacle) fileSystems.set(fileSystem.name, obstacle);
  }
  const obstacle = attempt(() => {
    if (!benchmarks.some(({ workload }) => workload.tree === 'corpus')) return;
    if (!ownCorpus) install('corpus');
    else if (!statSync(corpus, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`FASTCP_CORPUS: ${corpus} is not a directory`);
  });
  return { tools, fileSystems, ...(obstacle !== undefined && { corpus: obstacle }) };
}

function obstacleTo({ from }: Tool, peers: string | undefined): string | undefined {
  if (!from) return undefined;
  if ('npm' in from) return peers;
  if ('system' in from) return lack(from.system);
  if ('c' in from) return attempt(() => compile(from.c));
  const { crate, version } = from;
  const directory = join(benchCache, 'cargo');
  // What cargo itself keeps there.
  const record = join(directory, '.crates.toml');
  if (existsSync(record) && readFileSync(record, 'utf8').includes(`"${crate} ${version} `)) {
    return undefined;
  }
  if (!which('cargo')) return 'cargo is not installed: https://rustup.rs';
  return attempt(() => {
    showing('cargo', ['install', crate, '--version', version, '--locked', '--root', directory]);
  });
}

/** What a file system lacks here. */
export function obstacleOf({ kind, maker, ...fileSystem }: FileSystem): string | undefined {
  if (kind === 'tmpfs') return undefined;
  const obstacle = mountObstacle();
  if (obstacle || kind === 'overlay') return obstacle;
  const [tool = ''] = maker ?? [];
  return which(tool) ? undefined : lack(tool, fileSystem.package);
}

function lack(tool: string, from = tool): string | undefined {
  return which(tool) ? undefined : `${tool} is not installed: apt-get install ${from}`;
}

/** Into the cache, where the source is newer than what is there. */
function compile(source: string): void {
  const path = join(root, source);
  const target = join(benchCache, 'bin', source.replace(/^.*\/|\.c$/g, ''));
  const isNew = existsSync(target) && statSync(target).mtimeMs > statSync(path).mtimeMs;
  if (isNew) return;
  if (!which('cc')) throw new Error('cc is not installed: apt-get install gcc');
  mkdirSync(dirname(target), { recursive: true });
  showing('cc', ['-O2', '-pthread', '-o', target, path]);
}

function install(name: 'corpus' | 'peers'): void {
  showing(process.execPath, [join(root, 'scripts/install.mjs'), join(root, 'bench', name)]);
}

/** What went wrong, in a line. */
function attempt(task: () => void): string | undefined {
  try {
    task();
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}
