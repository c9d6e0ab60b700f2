import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { COMMAND, limited, run } from '../support/child.js';
import { differences } from '../support/compare.js';
import { useFileSystem } from '../support/filesystems.js';
import { makeFiles, makeSparseFile } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { hasTool, needRoot, needTool, skip, workDirectory } from '../support/work.js';

// What containers take away: system calls, rights, descriptors, memory, places to write.

const work = workDirectory('containers');
const sandbox = join(work, 'sandbox');
const src = join(work, 'src');
let made = 0;

beforeAll(() => {
  makeFiles(src, {
    'a/file': 'content',
    'a/large': Buffer.alloc(300_000, 'large '),
    'b/c/d/deep': 'deep',
    'b/empty': '',
  });
  makeSparseFile(join(src, 'b/holes'), 1 << 20, [512 * 1024]);
  for (let i = 0; i < 200; i++) writeFileSync(join(src, 'a', `file ${i}`), `${i}`);
  execFileSync('sh', ['-c', 'ln -s a/file link; ln a/file b/second; mkfifo b/fifo; chmod 750 b'], {
    cwd: src,
  });
  execFileSync('chmod', ['-R', 'a+rX', src]);
  if (!hasTool('cc')) return;
  const source = fileURLToPath(new URL('support/sandbox.c', import.meta.url));
  execFileSync('cc', ['-O1', '-o', sandbox, source]);
});

function newDest(parent = work): string {
  const directory = join(parent, `for all ${made++}`);
  mkdirSync(directory);
  chmodSync(directory, 0o1777);
  return join(directory, 'dest');
}

/** Root may lack the right to mount, as in most containers. In a chroot the root directory is no mount point. */
function needMounts(context: TestContext): void {
  needRoot(context);
  const { status, stderr, error } = spawnSync('unshare', ['--mount', 'true'], { encoding: 'utf8' });
  if (status !== 0) skip(context, error?.message ?? stderr.trim());
}

interface Told {
  status: number | null;
  stderr: string;
  errors: { code: string; syscall: string; path: string; message: string }[];
  warnings: { message: string }[];
  byKernel: number;
}

/** What the command says that it did. */
async function copy(before: string[], args: string[]): Promise<Told> {
  const words = [...before, process.execPath, COMMAND, '--json', '--no-progress', ...args];
  const { status, stdout, stderr } = await run(words);
  const last = stdout.trim().split('\n').at(-1) ?? '';
  const { errors = [], warnings = [], methods } = last === '' ? {} : JSON.parse(last);
  return { status, stderr, errors, warnings, byKernel: methods?.copyFileRange ?? 0 };
}

const fine = { status: 0, stderr: '', errors: [] };

describe.each(['root', 'user'] as const)('calls that are forbidden: %s', (who) => {
  const all =
    'io_uring_setup,io_uring_enter,io_uring_register,unshare,copy_file_range,statx,renameat2';
  const each = [
    'io_uring_setup,io_uring_enter,io_uring_register',
    'unshare',
    'copy_file_range',
    'statx',
    'renameat2',
  ];
  // One by one as root, and for both all that Docker's profile, or an old kernel, may be without.
  const rows = [...(who === 'root' ? each : []), all].flatMap((calls) =>
    (['ENOSYS', 'EPERM'] as const).map((error) => [calls, error] as const),
  );

  test.for(rows)('%s, %s', async ([calls, error], context) => {
    needTool(context, 'cc');
    if (who === 'root') needRoot(context);
    else needUser(context);
    const within = [...(who === 'user' ? asUser : []), sandbox, `${constants.errno[error]}`, calls];
    const dest = newDest();
    const told = await copy(within, [src, dest]);
    expect(told).toMatchObject(fine);
    if (calls.includes('copy_file_range')) expect(told.byKernel).toBe(0);
    else expect(told.byKernel).toBeGreaterThan(200);
    expect(differences(src, dest)).toEqual([]);
    // Once more, over what is there, and as a mirror.
    expect(await copy(within, [src, dest])).toMatchObject(fine);
    writeFileSync(join(dest, 'extra'), 'x');
    expect(await copy(within, ['--mirror', '-p', src, dest])).toMatchObject(fine);
    expect(differences(src, dest)).toEqual([]);
  });

  // Where the calls do not exist, an empty file reserves the backup's name.
  test.for([
    ['ENOSYS', 'it is kept another way'],
    ['EPERM', 'it says so'],
  ] as const)('a backup without linkat and renameat2, %s: %s', async ([error], context) => {
    needTool(context, 'cc');
    if (who === 'root') needRoot(context);
    else needUser(context);
    const as = who === 'user' ? asUser : [];
    const [from, dest] = [join(work, `one ${who} ${error}`), newDest()];
    makeFiles(from, { file: 'new' });
    await copy(as, [from, dest]);
    writeFileSync(join(dest, 'file'), 'old');
    const rename = [...as, sandbox, `${constants.errno[error]}`, 'linkat,renameat2'];
    const { status, errors } = await copy(rename, ['--backup=numbered', from, dest]);
    const isKept = error === 'ENOSYS';
    const failed = { status: 1, errors: [{ code: error, syscall: 'rename' }] };
    expect({ status, errors }).toMatchObject(isKept ? { status: 0, errors: [] } : failed);
    expect(readdirSync(dest)).toEqual(isKept ? ['file', 'file.~1~'] : ['file']);
    expect(readFileSync(join(dest, isKept ? 'file.~1~' : 'file'), 'utf8')).toBe('old');
  });
});

test('without /proc the reason is said: some metadata is lost, and an atomic copy fails', async (context) => {
  needMounts(context);
  const without = ['unshare', '--mount', 'sh', '-c', 'umount -l /proc; exec "$@"', 'sh'];
  const hint = expect.stringContaining('needs /proc, which is not mounted');
  const dest = newDest();
  for (const [option, key] of [
    ['-a', 'warnings'],
    ['--atomic', 'errors'],
  ] as const) {
    const told = await copy(without, [option, src, dest]);
    expect(told.status).toBe(key === 'errors' ? 1 : 0);
    expect(told[key]).not.toEqual([]);
    for (const { message } of told[key]) expect(message).toEqual(hint);
    rmSync(dest, { recursive: true, force: true });
  }
  expect(await copy(without, [src, dest])).toMatchObject(fine);
});

describe('a root that is read-only', () => {
  // The rest of the machine is as it was; only this process and its children see it.
  const readOnly = [
    'unshare',
    '-m',
    'sh',
    '-c',
    'mount --make-rprivate / && mount -o remount,bind,ro / && exec "$@"',
    'sh',
  ];

  test('copies to where something can be written, with no other place to write', async (context) => {
    needMounts(context);
    const dest = newDest();
    const env = ['env', 'HOME=/nonexistent', 'TMPDIR=/nonexistent'];
    expect(await copy([...readOnly, ...env], [src, dest])).toMatchObject(fine);
    expect(differences(src, dest)).toEqual([]);
  });

  test('says what cannot be written', async (context) => {
    needMounts(context);
    const dest = join(mkdtempSync(join('/var/tmp', 'fastcp-read-only-')), 'dest');
    const { status, errors } = await copy(readOnly, [src, dest]);
    rmdirSync(join(dest, '..'));
    expect({ status, errors }).toMatchObject({
      status: 1,
      errors: [{ code: 'EROFS', syscall: 'mkdir' }],
    });
    expect(errors).toHaveLength(1);
  });
});

describe('an overlay, as containers have', () => {
  const overlay = useFileSystem(work, 'overlay', {
    lower: (directory) =>
      makeFiles(
        directory,
        Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`image/${i % 7}/${i}`, `${i}`])),
      ),
  });

  test.for(['-p', '-a', '--reflink=never'])(
    'within it, from its lower layer: %s',
    async (flag, context) => {
      const root = overlay(context);
      const [from, dest] = [join(root, 'image'), newDest(root)];
      expect(await copy([], [flag, from, dest])).toMatchObject(fine);
      expect(differences(from, dest)).toEqual([]);
      execFileSync('sh', ['-c', 'rm -r 3; echo new >1/1; mkdir 3; echo x >3/x; ln -sf x 2/2'], {
        cwd: from,
      });
      expect(await copy([], ['--mirror', flag, from, dest])).toMatchObject(fine);
      expect(differences(from, dest)).toEqual([]);
    },
  );
});

test('64 descriptors', async (context) => {
  needTool(context, 'sh');
  const from = join(work, 'many directories');
  makeFiles(
    from,
    Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`${'d/'.repeat(i % 60)}${i}/file`, `${i}`]),
    ),
  );
  const dest = newDest();
  for (const args of [[], ['-j', '64'], ['-a', '--mirror']]) {
    expect(await copy(limited(64), [...args, from, dest])).toMatchObject(fine);
    expect(differences(from, dest)).toEqual([]);
    if (args.length > 0) rmSync(dest, { recursive: true });
  }
});

describe('64 MB of memory beyond what Node takes', () => {
  const MiB = 1 << 20;

  interface Group {
    directory: string;
    limit: string;
  }
  function groups(): Group | undefined {
    for (const [root, limit] of [
      ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
      ['/sys/fs/cgroup', 'memory.max'],
    ] as const) {
      const directory = join(root, `fastcp-${process.pid}`);
      try {
        mkdirSync(directory);
        if (existsSync(join(directory, limit))) return { directory, limit };
        rmdirSync(directory);
      } catch {
        // not ours to make
      }
    }
    return undefined;
  }

  test('copies large files and many', { timeout: 120_000 }, async (context) => {
    needRoot(context);
    const group = groups();
    if (group === undefined) skip(context, 'no control group can be made');
    // A file system in memory would be part of that.
    const disk = mkdtempSync(
      join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'fastcp-memory-'),
    );
    try {
      const TMPFS = 0x01021994; // statfs(2)
      if (statfsSync(disk).type === TMPFS) skip(context, `${dirname(disk)} is in memory`);
      const from = join(disk, 'src');
      mkdirSync(from);
      execFileSync('dd', ['if=/dev/zero', `of=${join(from, 'large')}`, 'bs=1M', 'count=120'], {
        stdio: 'pipe',
      });
      for (let i = 0; i < 2000; i++) {
        if (i % 500 === 0) mkdirSync(join(from, `${i / 500}`));
        writeFileSync(
          join(from, `${Math.floor(i / 500)}`, `a file with a rather long name ${i}`),
          `${i}`,
        );
      }
      const { stdout } = await run([process.execPath, '-p', 'process.resourceUsage().maxRSS']);
      writeFileSync(join(group.directory, group.limit), `${Number(stdout) * 1024 + 64 * MiB}`);
      const confined = ['sh', '-c', `echo $$ >${group.directory}/cgroup.procs && exec "$@"`, 'sh'];
      for (const args of [['-a'], ['--reflink=never', '-v', '--exclude=*.no']]) {
        const dest = join(disk, 'dest');
        expect(await copy(confined, [...args, from, dest])).toMatchObject(fine);
        expect(differences(from, dest)).toEqual([]);
        rmSync(dest, { recursive: true });
      }
    } finally {
      rmdirSync(group.directory);
      rmSync(disk, { recursive: true });
    }
  });
});
