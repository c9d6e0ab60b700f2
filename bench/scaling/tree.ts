import { randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { randomNumbers } from '../../scripts/random.mjs';
import { type Counts, makeFile } from '../trees.js';

/** What is in a tree, by paths below its root. Parents come before what is in them. */
export interface TreePlan {
  directories: string[];
  files: { path: string; bytes: number }[];
  symlinks: string[];
}

/** Sizes by the share of files that have at most as many bytes. Between two of them, sizes grow evenly in their logarithm. */
const sizes = [
  [0, 16],
  [0.66, 1024],
  [0.87, 4096],
  [0.94, 16_384],
  [0.97, 65_536],
  [0.998, 196_608],
  [0.99985, 2 ** 20],
  [1, 2 ** 22],
] as const;

const words =
  'array,babel,cache,core,date,dom,event,file,icon,index,lodash,map,node,parse,react,util';
const names = words.split(',');
const extensions = ['.js', '.d.ts', '.js.map', '.mjs', '.cjs', '.json', '.md', ''];

const deepest = 12;
const whole = { files: 115_000, directories: 8000, widest: 1700, packages: 1200, symlinks: 80 };

/**
 * Plans a tree in the shape of a real node_modules (sizes, widths, depths, lengths of names), always the same one. The
 * corpus itself is never used: it takes npm and a network, and figures of two machines could not be compared. The tree has
 * 0.8 GB, less than a real one, because with images five times as much has to fit into memory.
 */
export function planTree(scale: number): TreePlan {
  const random = randomNumbers(1);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const scaled = (count: number): number => Math.max(1, Math.round(count * scale));
  const directories: { path: string; depth: number; room: number }[] = [];
  const add = (parent: (typeof directories)[number] | undefined): void => {
    const index = directories.length;
    const name = `${pick(names)}-${pick(names)}-${index.toString(36)}`;
    // Most directories have few files and some have hundreds.
    const room = 1 / (0.02 + random()) ** 1.2;
    const path = parent ? join(parent.path, name) : name;
    directories.push({ path, depth: (parent?.depth ?? 0) + 1, room });
  };
  const packages = scaled(whole.packages);
  for (let made = 0; made < packages; made++) add(undefined);
  for (let depth = 1; depth < deepest; depth++) add(directories.at(depth === 1 ? 0 : -1));
  const [wide] = directories as [(typeof directories)[number]];
  const total = Math.max(scaled(whole.directories), directories.length);
  while (directories.length < total) {
    const parent = pick(directories);
    if (parent.depth < deepest && parent !== wide) add(parent);
  }

  const count = scaled(whole.files);
  const widest = scaled(whole.widest);
  const rooms = directories.reduce((sum, { room }) => sum + room, 0);
  const files: TreePlan['files'] = [];
  const fill = (path: string, many: number): void => {
    for (let made = 0; made < many && files.length < count; made++) {
      const index = files.length;
      const name = `${pick(names)}-${index.toString(36)}${pick(extensions)}`;
      files.push({ path: join(path, name), bytes: sizeOf(index) });
    }
  };
  fill(wide.path, widest - 1); // with one directory in it
  let due = 0;
  for (const { path, room } of directories) {
    due += (room / rooms) * (count - widest);
    if (path !== wide.path) fill(path, Math.round(due) + widest - 1 - files.length);
  }
  fill('', count); // what rounding left
  return {
    directories: [...directories.map(({ path }) => path), '.bin'],
    files,
    symlinks: Array.from({ length: scaled(whole.symlinks) }, (_, index) =>
      join('.bin', `${pick(names)}-${index}`),
    ),
  };
}

/** Multiples of the golden ratio spread evenly, so that any number of files has the shares. */
function sizeOf(index: number): number {
  const share = (index * 0.618_033_988_749_895 + 0.5) % 1;
  const above = sizes.findIndex(([upTo]) => share < upTo);
  const [from, least] = sizes[above - 1] as (typeof sizes)[number];
  const [to, most] = sizes[above] as (typeof sizes)[number];
  return Math.round(least * (most / least) ** ((share - from) / (to - from)));
}

export function countPlan({ directories, files, symlinks }: TreePlan): Counts {
  return {
    files: files.length,
    directories: directories.length,
    symlinks: symlinks.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

export function makePlanned({ directories, files, symlinks }: TreePlan, root: string): void {
  const block = randomBytes(2 ** 20);
  mkdirSync(root);
  for (const path of directories) mkdirSync(join(root, path));
  for (const { path, bytes } of files) makeFile(join(root, path), bytes, block);
  for (const path of symlinks) symlinkSync('../a-package/bin/command.js', join(root, path));
}
