import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyErrorLike, CopyOptions, CopyResult } from '../../lib/types.js';
import { openFiles, snapshot } from '../support/big-tree.js';
import { isLong } from '../support/form.js';
import { hasTool, needTool, removeTree, workDirectory } from '../support/work.js';

// Somebody else changes SRC and DEST while they are copied, so that the copy would write elsewhere.
// The long form takes minutes.

const work = workDirectory('hostile');
const swapper = join(work, 'swapper');
const outside = join(work, 'outside');
const SECRET = 'what is outside is nobody’s business';

/** What the swapper knows to change. */
function makeTree(root: string, content: (name: string) => string): string {
  for (let i = 0; i < 40; i++) {
    for (const directory of [`d${i}`, `d${i}/n`]) {
      mkdirSync(join(root, directory), { recursive: true });
      fill(join(root, directory), content);
    }
  }
  return root;
}

function fill(directory: string, content: (name: string) => string): void {
  for (let i = 0; i < 30; i++)
    writeFileSync(join(directory, `f${i}`), content(`${directory}/${i}`));
}

beforeAll(() => {
  if (hasTool('cc')) {
    const source = fileURLToPath(new URL('support/swapper.c', import.meta.url));
    execFileSync('cc', ['-O1', '-o', swapper, source]);
  }
  // Names as in the tree, so that whoever follows a link finds what it looks for.
  mkdirSync(join(outside, 'n'), { recursive: true });
  for (const directory of [outside, join(outside, 'n')]) fill(directory, () => SECRET);
  for (let i = 0; i < 30; i++) chmodSync(join(outside, `f${i}`), 0o600);
});

/** All that can be seen of what is outside, the times of change too. */
function canary(): string[] {
  return ['', ...(readdirSync(outside, { recursive: true }) as string[])].map((name) => {
    const { ino, mode, uid, gid, size, nlink, mtimeNs, ctimeNs } = lstatSync(join(outside, name), {
      bigint: true,
    });
    return [name, ino, mode, uid, gid, size, nlink, mtimeNs, ctimeNs].join(' ');
  });
}

const modes: CopyOptions[] = [
  {},
  { preserve: true },
  { mirror: true },
  { mirror: true, preserve: true },
  { sync: true },
  { reflink: 'never', concurrency: 1 },
];

let seed = Math.floor(Math.random() * 1e6);

function startSwapper(tree: string): { child: ChildProcess; rounds: () => Promise<number> } {
  const spare = `${tree} spare`;
  mkdirSync(spare);
  const child = spawn(swapper, [tree, spare, outside, `${seed++}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  return {
    child,
    rounds: async () => {
      child.kill('SIGTERM');
      await ended;
      return Number(output.trim().split('\n').at(-1));
    },
  };
}

/** The result, whatever became of the copy; fails after 10 s. */
async function copyWithin(src: string, dest: string, options: CopyOptions): Promise<CopyResult> {
  const job = copyTree(src, dest, { ...options, onError: 'continue' });
  const hung = AbortSignal.timeout(10_000);
  return Promise.race([
    job.catch(() => job.result),
    new Promise<never>((_, reject) => {
      hung.addEventListener('abort', () =>
        reject(new Error(`it hangs: ${JSON.stringify(options)}`)),
      );
    }),
  ]);
}

const known = [
  ...[
    'ENOENT',
    'ENOTDIR',
    'ELOOP',
    'EEXIST',
    'EISDIR',
    'ENOTEMPTY',
    'ESTALE',
    'ENXIO',
    'EINVAL',
    'EBUSY',
  ],
  ...['ERR_FS_CP_DIR_TO_NON_DIR', 'ERR_FS_CP_NON_DIR_TO_DIR', 'ERR_FASTCP_SOURCE_CHANGED'],
  'ERR_FASTCP_NAME_COLLISION',
  'ERR_FASTCP_DEST_CHANGED',
  'ERR_FASTCP_DEST_IS_SPECIAL', // files are exchanged for FIFOs
];

function isHonest({ code, path = '', message }: CopyErrorLike, src: string, dest: string): boolean {
  const within = [src, dest].some((root) => path === root || path.startsWith(`${root}/`));
  return (
    known.includes(code) && within && message.includes(path) && message.startsWith(`${code}: `)
  );
}

test.for(['SRC', 'DEST', 'both'] as const)(
  '%s: changed by somebody else meanwhile',
  { timeout: 600_000 },
  async (where, context) => {
    needTool(context, 'cc');
    const [src, dest] = [join(work, `src ${where}`), join(work, `dest ${where}`)];
    makeTree(src, (name) => name.repeat(20));
    makeTree(dest, (name) => `old ${name}`);
    const before = canary();
    const open = openFiles();
    const began = performance.now();
    const changed = where === 'both' ? [src, dest] : [where === 'SRC' ? src : dest];
    const swappers = changed.map(startSwapper);
    const dishonest: CopyErrorLike[] = [];
    const codes = new Map<string, number>();
    let copies = 0;
    let files = 0;
    let rounds = 0;
    const enough = isLong ? { copies: 60, ms: 20_000 } : { copies: 12, ms: 1_500 };
    while (copies < enough.copies || performance.now() - began < enough.ms) {
      const result = await copyWithin(src, dest, modes[copies++ % modes.length] ?? {});
      files += result.files;
      for (const error of result.errors) {
        codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
        if (!isHonest(error, src, dest)) dishonest.push(error);
      }
    }
    for (const { rounds: ended } of swappers) rounds += await ended();
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    console.log(
      `hostile, ${where}: ${rounds} rounds, ${copies} copies of ${files} files, ${seconds} s,`,
      Object.fromEntries(codes),
    );
    expect(canary()).toEqual(before);
    expect(openFiles()).toEqual(open);
    expect(dishonest).toEqual([]);
    expect(rounds).toBeGreaterThan(isLong ? 20_000 : 500);
    expect(files).toBeGreaterThan(1000);
    // Nothing was read by a link that leads outside, and no file that was not finished is left.
    expect(leftIn(dest)).toEqual([]);
    if (changed.includes(dest)) expect(leftIn(`${dest} spare`)).toEqual([]);
    for (const path of [src, dest, `${src} spare`, `${dest} spare`])
      if (existsSync(path)) removeTree(path);
  },
);

function leftIn(dest: string): string[] {
  const found = [
    ['find', dest, '-name', '.fastcp-*'],
    ['grep', '-rlIF', '-D', 'skip', SECRET, dest],
  ].flatMap(([file = '', ...args]) => {
    try {
      return execFileSync(file, args, { encoding: 'utf8' }).split('\n');
    } catch {
      return []; // grep found nothing
    }
  });
  return found.filter(Boolean);
}

describe('DEST was prepared with links that lead outside', () => {
  const src = join(work, 'plain');
  beforeAll(() => {
    makeTree(src, (name) => name);
  });

  test.for<CopyOptions>([
    ...modes,
    { force: false },
    { sync: true, checksum: true, preserve: true },
    { backup: 'numbered' },
    { verify: true },
    { fsync: true },
    { hardLink: true },
    { dereference: true },
    { exclude: ['f1'] },
    { shard: '1/2', preserve: true },
    { mirror: true, deleteExcluded: true, exclude: ['d1*', 'n'] },
  ])('%j: they are not followed', async (options) => {
    const dest = join(work, `prepared ${Math.random()}`);
    mkdirSync(join(dest, 'd3'), { recursive: true });
    symlinkSync(outside, join(dest, 'd1'));
    symlinkSync(outside, join(dest, 'd2'));
    symlinkSync(outside, join(dest, 'not in SRC'));
    symlinkSync(outside, join(dest, 'd3/n'));
    for (let i = 0; i < 30; i++) symlinkSync(join(outside, `f${i}`), join(dest, `d3/f${i}`));
    const before = canary();
    const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
    expect(canary()).toEqual(before);
    const codes = new Set(errors.map(({ code }) => code));
    expect([...codes]).toEqual(
      options.mirror || options.shard
        ? codes.size
          ? ['ERR_FS_CP_DIR_TO_NON_DIR']
          : []
        : ['ERR_FS_CP_DIR_TO_NON_DIR'],
    );
    rmSync(dest, { recursive: true });
  });
});

test('one of 128 fails: it rejects once, by the same code, and nothing is written later', async () => {
  const src = join(work, 'one bad');
  mkdirSync(src);
  for (let i = 0; i < 128; i++) writeFileSync(join(src, `${i}`), Buffer.alloc(100_000, `${i} `));
  let unhandled = 0;
  const count = (): void => {
    unhandled++;
  };
  process.on('unhandledRejection', count);
  for (let round = 0; round < 50; round++) {
    const dest = join(work, `one bad ${round}`);
    mkdirSync(join(dest, `${(round * 37) % 128}`), { recursive: true });
    const wait = async (): Promise<boolean> => {
      await sleep(Math.random() * 3);
      return true;
    };
    let settled = 0;
    const options: CopyOptions = round % 2 ? { filter: wait } : {};
    const error: CopyErrorLike = await copyTree(src, dest, options).then(
      () => expect.unreachable('it cannot be copied'),
      (reason) => {
        settled++;
        return reason;
      },
    );
    const left = snapshot(dest);
    expect(error.code).toBe('ERR_FS_CP_NON_DIR_TO_DIR');
    await sleep(20);
    expect(snapshot(dest)).toEqual(left);
    expect(settled).toBe(1);
    rmSync(dest, { recursive: true });
  }
  process.off('unhandledRejection', count);
  expect(unhandled).toBe(0);
});
