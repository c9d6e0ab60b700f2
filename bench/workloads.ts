import type { FileSystemName } from './file-systems.js';

/** What is copied, where, by whom, and what is wanted of it, as data. */
export interface Workload {
  name: string;
  title: string;
  tree: Tree;
  fileSystems: FileSystemName[];
  /** The one the others are compared with. */
  subject: string;
  tools: string[];
  rounds: number;
  /** `cold`: no part of the tree is in memory, and its file system lies on the disk. */
  cache?: 'cold';
  /** Compare the time inside the process, around the call, and not that of the whole process. */
  inProcess?: true;
  /** Copies in one process, of which the median counts. */
  iterations?: number;
  /** Remove each copy instead of restoring the image: for trees of a few files, too large to hold twice. */
  restore?: 'remove';
  /** Each tool copies once before, untimed: then DEST is there, and nothing has changed. */
  again?: true;
  /** For a tmpfs with more entries than it allows by default. */
  inodes?: 'unlimited';
  targets: Target[];
}

/** `directories` times `files`, each of `bytes` bytes; without directories SRC itself is a file. */
export type Tree = 'corpus' | { directories: number; files: number; bytes: number };

export type Target =
  /** How many times as fast as that tool, or as the fastest peer. */
  | { kind: 'faster'; than: string; least: number }
  /** CPU time less Node's start, in that of a limit. */
  | { kind: 'cpu'; of: 'floor' | 'floor-look'; most: number }
  /** Milliseconds more than `node -e 0`. */
  | { kind: 'start'; most: number }
  /** Peak, in MB. */
  | { kind: 'memory'; most: number }
  /** What fastcp's own result says, in milliseconds. */
  | { kind: 'duration'; most: number }
  /** Time per file, Node's start left out, in that of a benchmark with fewer files. */
  | { kind: 'per file'; benchmark: string; most: number };

export const fastestPeer = 'the fastest peer';
const within5Percent = 1 / 1.05;
const native = ['cp', 'rsync', 'cpz', 'xcp', 'fcp', 'floor'];
const command = ['fastcp', 'node', ...native];
const trees = [...command, 'own-tables'];
const library = [
  'fastcp-library',
  'node-cp',
  'node-cpSync',
  'node26-cp',
  'fs-extra',
  'cpy',
  'fs-safe',
];
const cold = command.filter((name) => name !== 'rsync' && name !== 'floor');
const clones: FileSystemName[] = ['xfs', 'btrfs'];

const corpusTargets: Target[] = [
  { kind: 'faster', than: fastestPeer, least: 1 },
  { kind: 'cpu', of: 'floor', most: 1.04 },
];
const coldTargets: Target[] = [
  { kind: 'faster', than: 'cpz', least: 1.4 },
  { kind: 'faster', than: 'cp', least: 2.5 },
];

/** A workload on each of its file systems, for each size of file. */
const smallFiles = [
  {
    name: '4k',
    title: '100,000 files of 4 KiB',
    tree: { directories: 100, files: 1000, bytes: 4096 },
  },
  {
    name: '100k',
    title: '20,000 files of 100 KiB',
    tree: { directories: 100, files: 200, bytes: 102_400 },
  },
].flatMap(({ name, title, tree }): Workload[] => [
  {
    name: `small-${name}`,
    title,
    tree,
    fileSystems: ['tmpfs', 'ext4'],
    subject: 'fastcp',
    tools: command,
    rounds: 3,
    targets: [
      { kind: 'faster', than: 'cp', least: 1.8 },
      { kind: 'faster', than: 'cpz', least: within5Percent },
    ],
  },
  {
    name: `small-${name}-cold`,
    title: `${title}, cold`,
    tree,
    fileSystems: ['ext4'],
    subject: 'fastcp',
    tools: cold,
    rounds: 3,
    cache: 'cold',
    targets: [
      { kind: 'faster', than: 'cp', least: 2 },
      { kind: 'faster', than: 'cpz', least: 1 },
    ],
  },
]);

export const workloads: Workload[] = [
  {
    name: 'corpus',
    title: 'a real node_modules',
    tree: 'corpus',
    fileSystems: ['tmpfs', 'ext4', 'overlay'],
    subject: 'fastcp',
    tools: trees,
    rounds: 3,
    targets: corpusTargets,
  },
  ...clones.map(
    (name): Workload => ({
      name: 'corpus',
      title: 'a real node_modules',
      tree: 'corpus',
      fileSystems: [name],
      subject: 'fastcp',
      tools: [...trees, 'fastcp-reflink', 'cp-reflink'],
      rounds: 3,
      targets: [
        ...corpusTargets,
        { kind: 'faster', than: 'cp-reflink', least: name === 'xfs' ? 1.5 : 1.3 },
      ],
    }),
  ),
  {
    name: 'corpus-cold',
    title: 'a real node_modules, cold',
    tree: 'corpus',
    fileSystems: ['ext4', 'xfs'],
    subject: 'fastcp',
    tools: cold,
    rounds: 3,
    cache: 'cold',
    targets: coldTargets,
  },
  {
    name: 'wide',
    title: '50,000 files of 10 KiB in one directory',
    tree: { directories: 1, files: 50_000, bytes: 10_240 },
    fileSystems: ['tmpfs', 'ext4', 'xfs'],
    subject: 'fastcp',
    tools: trees,
    rounds: 3,
    targets: [
      { kind: 'faster', than: 'cpz', least: 1.5 },
      { kind: 'faster', than: 'fcp', least: 1 },
    ],
  },
  ...smallFiles,
  {
    name: 'large',
    title: 'one file of 4 GiB',
    tree: { directories: 1, files: 1, bytes: 4 * 2 ** 30 },
    fileSystems: ['tmpfs', 'ext4'],
    subject: 'fastcp',
    tools: command,
    rounds: 3,
    restore: 'remove',
    targets: [{ kind: 'faster', than: fastestPeer, least: 1 }],
  },
  {
    name: 'large-clone',
    title: 'a clone of one file of 4 GiB',
    tree: { directories: 1, files: 1, bytes: 4 * 2 ** 30 },
    fileSystems: ['xfs'],
    subject: 'fastcp',
    tools: ['fastcp', 'fastcp-library', 'node', 'cp', 'cp-reflink', 'cpz', 'xcp', 'fcp'],
    rounds: 3,
    restore: 'remove',
    targets: [{ kind: 'duration', most: 10 }],
  },
  {
    name: 'library-small',
    title: 'library: 256 files of 1 KiB in 16 directories',
    tree: { directories: 16, files: 16, bytes: 1024 },
    fileSystems: ['tmpfs'],
    subject: 'fastcp-library',
    tools: library,
    rounds: 3,
    inProcess: true,
    iterations: 30,
    targets: [
      { kind: 'faster', than: 'node-cp', least: 8 },
      { kind: 'faster', than: 'node26-cp', least: 2 },
    ],
  },
  {
    name: 'library-corpus',
    title: 'library: a real node_modules',
    tree: 'corpus',
    fileSystems: ['tmpfs'],
    subject: 'fastcp-library',
    tools: library,
    rounds: 3,
    inProcess: true,
    targets: [
      { kind: 'faster', than: 'node-cp', least: 20 },
      { kind: 'faster', than: 'node26-cp', least: 3.5 },
      { kind: 'faster', than: 'fs-extra', least: 7 },
      { kind: 'faster', than: 'cpy', least: 30 },
    ],
  },
  {
    name: 'library-corpus',
    title: 'library: a real node_modules',
    tree: 'corpus',
    fileSystems: ['xfs'], // fs-safe has its native clone there.
    subject: 'fastcp-library',
    tools: ['fastcp-library', 'node26-cp', 'fs-safe'],
    rounds: 3,
    inProcess: true,
    targets: [{ kind: 'faster', than: 'node26-cp', least: 3.5 }],
  },
  {
    name: 'version',
    title: 'start-up',
    tree: { directories: 1, files: 1, bytes: 0 },
    fileSystems: ['tmpfs'],
    subject: 'fastcp-version',
    tools: ['fastcp-version', 'node'],
    rounds: 25,
    targets: [{ kind: 'start', most: 6 }],
  },
  {
    name: 'mirror',
    title: 'a mirror of a real node_modules, nothing changed',
    tree: 'corpus',
    fileSystems: ['tmpfs', 'ext4'],
    subject: 'fastcp-mirror',
    tools: ['fastcp-mirror', 'node', 'rsync-delete', 'floor-look'],
    rounds: 3,
    again: true,
    targets: [
      { kind: 'faster', than: 'rsync-delete', least: 3.5 },
      { kind: 'cpu', of: 'floor-look', most: 1.3 },
    ],
  },
  {
    name: 'one',
    title: 'one file of 1 KiB',
    tree: { directories: 0, files: 1, bytes: 1024 },
    fileSystems: ['tmpfs'],
    subject: 'fastcp',
    tools: ['fastcp', 'node', 'cp', 'cpz'],
    rounds: 25,
    targets: [{ kind: 'start', most: 12 }],
  },
  {
    name: 'hundred',
    title: '100 files of 1 KiB in 10 directories',
    tree: { directories: 10, files: 10, bytes: 1024 },
    fileSystems: ['tmpfs'],
    subject: 'fastcp',
    tools: ['fastcp', 'node', 'cp', 'cpz'],
    rounds: 25,
    targets: [{ kind: 'start', most: 15 }],
  },
  {
    name: 'empty-100k',
    title: '100,000 empty files in 1,000 directories',
    tree: { directories: 1000, files: 100, bytes: 0 },
    inodes: 'unlimited',
    fileSystems: ['tmpfs'],
    subject: 'fastcp',
    tools: ['fastcp', 'node', 'cp', 'cpz', 'floor'],
    rounds: 3,
    targets: [{ kind: 'cpu', of: 'floor', most: 1.06 }],
  },
  {
    name: 'empty-2m',
    title: '2,000,000 empty files in 20,000 directories',
    tree: { directories: 20_000, files: 100, bytes: 0 },
    inodes: 'unlimited',
    fileSystems: ['tmpfs'],
    subject: 'fastcp',
    tools: ['fastcp', 'node', 'cp', 'cpz', 'floor'],
    rounds: 3,
    targets: [
      { kind: 'memory', most: 150 },
      { kind: 'per file', benchmark: 'empty-100k/tmpfs', most: 1.2 },
    ],
  },
];

/** Wanted over all benchmarks together. */
export const overall = {
  /** Benchmarks of this workload, and on how many of them fastcp must be ahead of the fastest peer. */
  ahead: { workload: 'corpus', least: 2 },
  /** Geometric mean over all benchmarks that have a peer, against the fastest. */
  geometricMean: 1.15,
};

/** `--quick` */
export const quick = {
  workload: 'corpus',
  fileSystems: ['tmpfs', 'ext4'],
  tools: ['fastcp', 'node', 'cp', 'cpz', 'fcp', 'floor'],
  rounds: 3,
};
