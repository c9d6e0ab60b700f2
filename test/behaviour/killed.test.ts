// Modes that keep existing files keep what a killed copy left as well: a file must be complete when it has its name.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CopyOptions } from '../../lib/types.js';
import { gitEnvironment } from '../selection/support/git.js';
import { COMMAND, copyInChild, run } from '../support/child.js';
import { differences, leftovers, unlike } from '../support/compare.js';
import { useFileSystem } from '../support/filesystems.js';
import { seed, size } from '../support/form.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

const work = workDirectory('killed');
let number = 0;
let shim: string;
beforeAll(() => {
  shim = buildShim(work);
});

const MODES = ['-n', '-u', '--worktree'] as const;
/** What is refused, so that files get their names in another way. */
const UNNAMED = 'by a link to a file without a name';
const WAYS = {
  [UNNAMED]: '',
  'by a renaming': 'openat(O_TMPFILE):95:1:9999',
  'by a renaming, since links are forbidden': 'linkat:1:1:9999',
} as const;
const NEITHER = 'openat(O_TMPFILE):95:1:9999 renameat2:22:1:9999';

interface Trees {
  words: string[];
  src: string;
  dest: string;
}

/** Makes what the mode copies. `src` and `dest` hold the files. */
function prepare(at: string, mode: string, files: Record<string, Buffer>): Trees {
  const src = join(at, 'src');
  const dest = join(at, 'dest');
  makeFiles(join(src, 'node_modules'), files);
  if (mode !== '--worktree') {
    return { words: [mode, join(src, 'node_modules'), dest], src: join(src, 'node_modules'), dest };
  }
  makeFiles(src, { '.gitignore': Buffer.from('node_modules') });
  const who = ['-c', 'user.name=x', '-c', 'user.email=x'];
  const calls = [
    ['init', '-q'],
    ['add', '.'],
    [...who, 'commit', '-qm', 'x'],
  ];
  for (const call of [...calls, ['worktree', 'add', '-q', dest]])
    execFileSync('git', ['-C', src, ...call], { env: { ...process.env, ...gitEnvironment } });
  const trees = { src: join(src, 'node_modules'), dest: join(dest, 'node_modules') };
  return { words: [mode, src, dest], ...trees };
}

const content = (from: number): Buffer => Buffer.alloc(100 + from * 3000, `${from} `);
const few = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`d${i % 2}/${i}`, content(i)]));

describe.each(MODES)('%s', (mode) => {
  test.for(Object.entries(WAYS).slice(0, 2))(
    'a killed copy leaves no part of a file: named %s',
    async ([way, refused], context) => {
      needTool(context, 'git');
      for (const call of [1, 4]) {
        const at = join(work, `${number++}`);
        const { words, src, dest } = prepare(at, mode, few);
        const log = join(at, 'log');
        const faults = `copy_file_range:run:${call}:1 ${refused}`;
        const killing = withFaults({ shim, root: at, log, faults, script: 'kill -9 $PPID' });
        const { status } = await run([...killing, process.execPath, COMMAND, ...words]);
        expect(status).toBe(null);
        expect(faultLog(log).some((line) => line.startsWith('copy_file_range'))).toBe(true);
        const left = leftovers(dest);
        expect(left.length > 0).toBe(way !== UNNAMED);
        expect(unlike(src, dest)).toEqual(left); // what has its name is whole
        expect((await run([process.execPath, COMMAND, ...words])).status).toBe(0);
        expect(unlike(src, dest)).toEqual(left);
        expect(unlike(dest, src)).toEqual([]);
      }
    },
  );
});

describe.each([{ force: false }, { update: true }])('%o', (options: CopyOptions) => {
  test.for(Object.entries(WAYS))(
    'a file that somebody created while it was copied stays: named %s',
    async ([, refused]) => {
      const at = join(work, `${number++}`);
      const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
      makeFiles(src, { a: 'content', b: 'content' });
      const faults = `copy_file_range:run:1:1 ${refused}`;
      const script = `for name in a b; do [ -e "${dest}/$name" ] || echo theirs > "${dest}/$name"; done`;
      const before = withFaults({ shim, root: at, log, faults, script });
      const { error, result } = await copyInChild(
        { src, dest, options: { ...options, concurrency: 1 } },
        before,
      );
      expect(error).toBeUndefined();
      expect(result).toMatchObject({ files: 0, skipped: 2, bytes: 0 });
      for (const name of ['a', 'b'])
        expect(readFileSync(join(dest, name), 'utf8')).toBe('theirs\n');
      expect(leftovers(dest)).toEqual([]);
    },
  );

  test('where files can be named in neither way, all are copied', async () => {
    const at = join(work, `${number++}`);
    const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
    makeFiles(src, few);
    const before = withFaults({ shim, root: at, log, faults: NEITHER });
    const { error, result } = await copyInChild({ src, dest, options }, before);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ files: 9, skipped: 0 });
    expect(faultLog(log).some((line) => line.startsWith('renameat2'))).toBe(true);
    expect(differences(src, dest)).toEqual([]);
  });
});

describe.each(['tmpfs', 'ext4'] as const)('killed at random times, on %s', (name) => {
  const mounted = useFileSystem(work, name);
  test.for(MODES)('%s run again completes the copy', { tags: ['all'] }, async (mode, context) => {
    needTool(context, 'git');
    console.info(`killed at random times: FASTCP_SEED=${seed}`);
    const many = Object.fromEntries(
      Array.from({ length: 2000 }, (_, i) => [`d${i % 50}/${i}`, content((i * seed) % 9)]),
    );
    for (let round = 0; round < size(1, 4, 25); round++) {
      const at = join(mounted(context), `${mode}${round}`);
      mkdirSync(at);
      const { words, src, dest } = prepare(at, mode, many);
      const child = spawn(process.execPath, [COMMAND, ...words], { stdio: 'ignore' });
      const ended = once(child, 'exit');
      while (!existsSync(join(dest, 'd1')) && child.exitCode === null) await setTimeout(1);
      await setTimeout(((seed * (round + 1)) % 97) / 2);
      child.kill('SIGKILL');
      await ended;
      const again = await run([process.execPath, COMMAND, ...words]);
      expect(again).toMatchObject({ status: 0, stderr: '' });
      // macOS has no files without names.
      const left = process.env.FASTCP_DARWIN_MODEL ? leftovers(dest) : [];
      expect([...unlike(src, dest), ...unlike(dest, src)]).toEqual(left);
      rmSync(at, { recursive: true });
    }
  });
});
