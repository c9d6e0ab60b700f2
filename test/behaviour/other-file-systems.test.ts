import {
  type ChildProcess,
  execFileSync,
  type SpawnSyncReturns,
  spawn,
  spawnSync,
} from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyTree, doctor } from '../../lib/index.js';
import type { CopyResult } from '../../lib/types.js';
import { useMount } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { hasTool, needTool, workDirectory } from '../support/work.js';

// File systems on which a copy ends now and then: of other systems, of old disks, in user space, that nobody can write
// to. docs/doctor.md has the table. The usual ones have tests of their own: filesystems.test.ts.

const work = workDirectory('other-file-systems');
const src = join(work, 'src');
const run = (file: string, ...args: string[]): string =>
  execFileSync(file, args, { stdio: 'pipe', encoding: 'utf8' });

interface Row {
  needs: string[];
  /** Makes the image, which has 128 MiB if it exists, and mounts it. */
  mount: (image: string, directory: string) => unknown;
  /** What the file system lacks. */
  lacks: ('exchange' | 'marks' | 'modes' | 'symlinks')[];
  /** Case does not matter. */
  folds?: true;
}

const onLoop =
  (maker: string[], type: string[] = []) =>
  (image: string, directory: string): void => {
    writeFileSync(image, '');
    truncateSync(image, 128 * 2 ** 20);
    const [file = '', ...flags] = maker;
    run(file, ...flags, image);
    run('mount', ...type, '-o', 'loop', image, directory);
  };

/** Adds a key to the file system of an empty directory, and encrypts the directory with it: linux/fscrypt.h. */
const encrypt = `
import fcntl, os, struct, sys
directory = os.open(sys.argv[1], os.O_RDONLY)
key = bytearray(struct.pack('=II32sII32x', 2, 0, b'', 64, 0) + os.urandom(64))
fcntl.ioctl(directory, 0xc0506617, key)  # FS_IOC_ADD_ENCRYPTION_KEY, which returns the key's identifier
policy = struct.pack('=BBBBB3x16s', 2, 1, 4, 0, 0, bytes(key[8:24]))  # AES-256-XTS and -CTS
fcntl.ioctl(directory, 0x800c6613, policy)  # FS_IOC_SET_ENCRYPTION_POLICY
if len(sys.argv) > 2:
    open(sys.argv[2], 'wb').write(key[8:24])
`;

/** Removes a key from a file system. */
const lock = `
import fcntl, os, struct, sys
key = bytearray(struct.pack('=II16s16xI20x', 2, 0, open(sys.argv[2], 'rb').read(), 0))
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0xc0406618, key)  # FS_IOC_REMOVE_ENCRYPTION_KEY
`;

const rows: Record<string, Row> = {
  ext2: { needs: ['mkfs.ext2'], mount: onLoop(['mkfs.ext2', '-q', '-F']), lacks: [] },
  // whole seconds
  'ext4 with inodes of 128 bytes': {
    needs: ['mkfs.ext4'],
    mount: onLoop(['mkfs.ext4', '-q', '-F', '-I', '128']),
    lacks: [],
  },
  'tmpfs with huge pages': {
    needs: [],
    mount: (_, directory) => run('mount', '-t', 'tmpfs', '-o', 'huge=always', 'tmpfs', directory),
    lacks: [],
  },
  'overlayfs with all its features': {
    needs: [],
    mount: (image, directory) => {
      const layers = ['lowerdir', 'upperdir', 'workdir'].map((layer) => {
        mkdirSync(`${image}.${layer}`);
        return `${layer}=${image}.${layer}`;
      });
      const features = ['redirect_dir', 'metacopy', 'index', 'xino'].map((name) => `${name}=on`);
      run('mount', '-t', 'overlay', '-o', [...features, ...layers].join(), 'overlay', directory);
    },
    lacks: [],
  },
  'a bind mount': {
    needs: [],
    mount: (image, directory) => {
      mkdirSync(image);
      run('mount', '--bind', image, directory);
    },
    lacks: [],
  },
  'an encrypted directory of ext4': {
    needs: ['mkfs.ext4', 'python3'],
    mount: (image, directory) => {
      const whole = `${image}.whole`;
      const encrypted = join(whole, 'encrypted');
      mkdirSync(whole);
      onLoop(['mkfs.ext4', '-q', '-F', '-O', 'encrypt'])(image, whole);
      mkdirSync(encrypted);
      run('python3', '-c', encrypt, encrypted);
      run('mount', '--bind', encrypted, directory);
      run('umount', '-l', whole);
    },
    lacks: [],
  },
  'NTFS by ntfs-3g': {
    needs: ['mkfs.ntfs', 'mount.ntfs-3g'],
    mount: onLoop(['mkfs.ntfs', '-q', '-F'], ['-t', 'ntfs-3g']),
    lacks: ['exchange', 'marks', 'modes'],
  },
  'exFAT by exfat-fuse': {
    needs: ['mkfs.exfat', 'mount.exfat-fuse'],
    mount: onLoop(['mkfs.exfat'], ['-t', 'exfat-fuse']),
    lacks: ['exchange', 'marks', 'modes', 'symlinks'],
    folds: true,
  },
  'FUSE without extended attributes': {
    needs: ['bindfs'],
    mount: (image, directory) => {
      mkdirSync(image);
      run('bindfs', '--xattr-none', image, directory);
    },
    lacks: ['exchange', 'marks'],
  },
};

const readOnly: Record<string, Row> = {
  squashfs: {
    needs: ['mksquashfs'],
    mount: (image, directory) => {
      run('mksquashfs', src, image, '-quiet', '-no-progress');
      run('mount', '-o', 'loop', image, directory);
    },
    lacks: [],
  },
  erofs: {
    needs: ['mkfs.erofs'],
    mount: (image, directory) => {
      run('mkfs.erofs', image, src);
      run('mount', '-o', 'loop', image, directory);
    },
    lacks: [],
  },
};

beforeAll(() => {
  makeFiles(src, {
    'a file': 'x',
    'one/two/three': 'y',
    empty: '',
    'large/300 KiB': 'z'.repeat(3e5),
  });
  for (let i = 0; i < 100; i++) writeFileSync(join(src, 'one', `${i}`), `${i}`);
  writeFileSync(join(src, 'script'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(src, 'holes'), 'begin');
  truncateSync(join(src, 'holes'), 2 ** 20);
  mkdirSync(join(src, 'nothing'));
  // Not at a whole second, nor at an even one.
  utimesSync(join(src, 'a file'), 1_000_000_001.123, 1_000_000_001.123);
});

function useRow(name: string, { needs, mount }: Row): ReturnType<typeof useMount> {
  const directory = join(work, name);
  return useMount(directory, needs, () => mount(`${directory}.image`, directory));
}

const expectSame = (one: string, other: string): void => {
  expect(run('diff', '--recursive', '--no-dereference', one, other)).toBe('');
};
const listing = (directory: string, format: string): string[] =>
  run('find', directory, '-printf', `%P ${format}\n`).split('\n').sort();

describe.each(Object.entries(rows))('to %s', (name, row) => {
  const directoryOf = useRow(name, row);
  const lacks = (what: Row['lacks'][0]): boolean => row.lacks.includes(what);

  test('what doctor says', async (context) => {
    const [found] = (await doctor(directoryOf(context))).directories;
    const works = (what: Row['lacks'][0]): unknown => (lacks(what) ? expect.any(String) : true);
    expect(found?.can).toMatchObject({ marks: works('marks') });
  });

  test('what doctor says of metadata is what other tools see', async (context) => {
    needTool(context, 'setfattr');
    const directory = directoryOf(context);
    writeFileSync(join(directory, 'file'), '');
    const tool = (command: string): SpawnSyncReturns<string> => {
      const [name = '', ...rest] = command.split(' ');
      return spawnSync(name, rest, { cwd: directory, encoding: 'utf8' });
    };
    /** Returns whether the reader prints something else after the change. */
    const isKept = (change: string, reader: string): boolean => {
      const before = tool(reader).stdout;
      return tool(change).status === 0 && tool(reader).stdout !== before;
    };
    const seen = {
      xattrs: isKept('setfattr -n user.a -v b file', 'getfattr file'),
    };
    const [found] = (await doctor(directory)).directories;
    const said = Object.keys(seen).map((key) => [
      key,
      found?.can[key as keyof typeof seen] === true,
    ]);
    expect(Object.fromEntries(said)).toEqual(seen);
  });

  test.for([{}, { preserve: true }])('a copy, twice, %o', async (options, context) => {
    const dest = join(directoryOf(context), `copy ${Object.keys(options)}`);
    for (const _ of [1, 2]) {
      const { warnings } = await copyTree(src, dest, { ...options, verify: true });
      expect(warnings.map(({ code }) => code)).toEqual(
        lacks('modes') ? ['MODE_NOT_PRESERVED'] : [],
      );
      expectSame(src, dest);
    }
    if (!lacks('modes')) expect(listing(dest, '%m')).toEqual(listing(src, '%m'));
    const seconds = '%Ts';
    if ('preserve' in options) expect(listing(dest, seconds)).toEqual(listing(src, seconds));
  });

  test.for([{}, { preserve: true }])(
    'a mirror, twice: nothing is copied again, %o',
    async (options, context) => {
      const dest = join(directoryOf(context), `mirror ${Object.keys(options)}`);
      makeFiles(dest, { extra: '', 'one/extra': '' });
      const { files } = await copyTree(src, dest, { mirror: true, ...options });
      expect(await copyTree(src, dest, { mirror: true, ...options })).toMatchObject({
        files: 0,
        unchanged: files,
      });
      expectSame(src, dest);
      // The same size, at the same time.
      makeFiles(dest, { 'one/two/three': 'n' });
      const { atime, mtime } = statSync(join(src, 'one/two/three'));
      utimesSync(join(dest, 'one/two/three'), atime, mtime);
      expect(await copyTree(src, dest, { mirror: true, ...options })).toMatchObject({ files: 1 });
      expectSame(src, dest);
    },
  );

  test('update, twice: whatever the granularity of timestamps, only newer files are copied', async (context) => {
    const from = join(work, `update to ${name}`);
    const dest = join(directoryOf(context), 'update');
    makeFiles(from, {
      'of a whole second': '1',
      'in/of nanoseconds': '2',
      'of an odd second': '3',
    });
    // utimes() of Node has microseconds.
    const touch = (entry: string, when: string): string =>
      run('touch', '-d', when, join(from, entry));
    touch('of a whole second', '2025-01-02 03:04:06');
    touch('in/of nanoseconds', '2025-01-02 03:04:05.999999999');
    touch('of an odd second', '2025-01-02 03:04:05');
    expect(await copyTree(from, dest, { update: true })).toMatchObject({ files: 3, skipped: 0 });
    expect(await copyTree(from, dest, { update: true })).toMatchObject({ files: 0, skipped: 3 });
    touch('in/of nanoseconds', '2025-01-02 03:04:07');
    expect(await copyTree(from, dest, { update: true })).toMatchObject({ files: 1, skipped: 2 });
    // FAT has even seconds.
    touch('in/of nanoseconds', '2025-01-02 03:04:09.5');
    const single = [join(from, 'in/of nanoseconds'), join(dest, 'in/of nanoseconds')] as const;
    expect(await copyTree(...single, { update: true })).toMatchObject({ files: 1 });
    expect(await copyTree(...single, { update: true })).toMatchObject({ files: 0, skipped: 1 });
  });

  test('hard links with metadata that DEST cannot hold stay in the next mirror', async (context) => {
    const dest = join(directoryOf(context), 'hard links');
    const from = join(work, `hard links to ${name}`);
    makeFiles(from, { file: 'x', other: 'y' });
    for (const entry of ['file', 'other']) linkSync(join(from, entry), join(from, `${entry}'s`));
    execFileSync('chmod', ['2751', join(from, 'file')]);
    if (hasTool('setfacl')) run('setfacl', '-m', 'u:1234:rw', join(from, 'file'));
    if (hasTool('setfattr')) run('setfattr', '-n', 'user.test', '-v', 'x', join(from, 'other'));
    const mirror = async () => copyTree(from, dest, { mirror: true, preserve: true });
    // Which name of a file a warning shows, and which comes first, is the workers' choice.
    const losses = ({ warnings }: CopyResult) =>
      warnings.map(({ code, count }) => `${code} ${count}`).sort();
    const first = await mirror();
    const before = listing(dest, '%i %m %T@');
    // Some file systems in user space show a new number of hard links after a second.
    await sleep(1100);
    for (const _ of [1, 2]) {
      // Which attributes were lost is said each time.
      const again = await mirror();
      expect(again).toMatchObject({ files: 0, hardLinks: 0, unchanged: 4 });
      expect(losses(again)).toEqual(losses(first));
      expect(listing(dest, '%i %m %T@')).toEqual(before);
    }
    expect(first.files).toBeGreaterThanOrEqual(2);
    // A change that DEST can hold is made.
    utimesSync(join(from, 'file'), 1_000_000_000, 1_000_000_000);
    await mirror();
    expect(await mirror()).toMatchObject({ files: 0, unchanged: 4 });
    expect(listing(dest, '%Ts')).toEqual(listing(from, '%Ts'));
  });

  test('atomic', async (context) => {
    const dest = join(directoryOf(context), 'atomic');
    // A new DEST needs no exchange.
    for (const isNew of [true, false]) {
      const again = copyTree(src, dest, { atomic: true });
      if (isNew || !lacks('exchange')) await again;
      else await expect(again).rejects.toThrow('cannot exchange');
      expectSame(src, dest);
    }
    await copyTree(src, dest, { atomic: 'two-step' });
    expectSame(src, dest);
  });

  test.for(['pipe', 'device'])('a %s, or an error and no entry', async (kind, context) => {
    const [from, dest] = [join(work, `${kind} to ${name}`), join(directoryOf(context), kind)];
    mkdirSync(from);
    run('mknod', join(from, 'special'), ...(kind === 'pipe' ? ['p'] : ['c', '1', '3']));
    for (const existing of ['', 'old']) {
      if (existing) makeFiles(dest, { special: existing });
      const options = existing ? { mirror: true } : {};
      const { errors } = await copyTree(from, dest, { ...options, onError: 'continue' });
      if (errors.length === 0) expect(listing(dest, '%y')).toEqual(listing(from, '%y'));
      else {
        expect(errors).toMatchObject([{ code: 'EPERM', syscall: 'mknod' }]);
        expect(readdirSync(dest)).toEqual(existing ? ['special'] : []);
        if (existing) expect(readFileSync(join(dest, 'special'), 'utf8')).toBe(existing);
      }
      rmSync(dest, { recursive: true });
    }
  });

  test('symlinks', async (context) => {
    const dest = join(directoryOf(context), 'symlinks');
    const from = join(work, `symlinks to ${name}`);
    makeFiles(from, { file: 'x' });
    symlinkSync('file', join(from, 'symlink'));
    const copying = copyTree(from, dest, { onError: 'continue' });
    const { errors } = await copying;
    if (lacks('symlinks'))
      expect(errors).toMatchObject([{ syscall: 'symlink', path: join(from, 'symlink') }]);
    else expectSame(from, dest);
  });
});

const folding = Object.entries(rows).filter(([, { folds }]) => folds);

// Each spelling of a name has an inode number of its own there.
describe.each(folding)('in two spellings, on %s', (name, row) => {
  const directoryOf = useRow(`${name} twice`, row);

  test('a mirror after a change of case in SRC deletes nothing', async (context) => {
    const from = join(work, `case of ${name}`);
    const dest = join(directoryOf(context), 'mirrored');
    makeFiles(from, { 'directory/in': '1', file: '2' });
    await copyTree(from, dest, { mirror: true });
    for (const entry of ['file', 'directory'])
      renameSync(join(from, entry), join(from, entry.toUpperCase()));
    makeFiles(dest, { 'directory/extra': '', extra: '' });
    const first = await copyTree(from, dest, { mirror: true });
    expect(first).toMatchObject({ files: 0, deleted: 2, errorCount: 0 });
    const second = await copyTree(from, dest, { mirror: true });
    expect(second).toMatchObject({ files: 0, unchanged: 2, deleted: 0, errorCount: 0 });
    for (const [entry, content] of Object.entries({ 'directory/in': '1', file: '2' }))
      expect(readFileSync(join(dest, entry), 'utf8')).toBe(content);
  });
});

describe.each(Object.entries(readOnly))('from %s', (name, row) => {
  const directoryOf = useRow(name, row);

  test('doctor says that it is read-only', async (context) => {
    const [found] = (await doctor(directoryOf(context))).directories;
    expect(found?.readOnly).toBe(true);
  });

  test.for([
    { preserve: true },
    { preserve: true, mirror: true },
    { atomic: true },
    { verify: true },
  ])('%o, twice', async (options, context) => {
    const from = directoryOf(context);
    const dest = join(work, `from ${name} ${JSON.stringify(options)}`);
    for (const _ of [1, 2]) {
      await copyTree(from, dest, options);
      expectSame(from, dest);
      expect(listing(dest, '%m %l')).toEqual(listing(from, '%m %l'));
    }
  });
});

describe('sshfs, whose server follows symlinks when it sets timestamps, and gives each hard link its own number', () => {
  let server: ChildProcess | undefined;
  const directoryOf = useMount(join(work, 'sshfs'), ['sshfs', 'socat'], () => {
    const words = ['TCP-LISTEN:7784,fork,bind=127.0.0.1', 'EXEC:/usr/lib/openssh/sftp-server'];
    server = spawn('socat', words, { stdio: 'ignore' });
    mkdirSync(join(work, 'remote'));
    const mount = `until sshfs -o directport=7784 localhost:${work}/remote ${work}/sshfs; do sleep 0.1; done`;
    run('timeout', '20', 'sh', '-c', mount);
  });
  afterAll(() => server?.kill());

  test('symlinks stay, and a warning names what they lost; hard links stay', async (context) => {
    const [from, dest] = [join(work, 'linked'), join(directoryOf(context), 'dest')];
    makeFiles(from, { a: 'a' });
    linkSync(join(from, 'a'), join(from, 'b'));
    symlinkSync('nothing', join(from, 'dangling'));
    const copy = () => copyTree(from, dest, { preserve: true });
    const warnings = [{ code: 'TIMESTAMPS_NOT_PRESERVED', count: 1 }];
    expect(await copy()).toMatchObject({ files: 1, hardLinks: 1, symlinks: 1, warnings });
    expectSame(from, dest);
    const [a, b] = ['a', 'b'].map((name) => statSync(join(work, 'remote/dest', name)).ino);
    expect(a).toBe(b);
  });
});

describe('an encrypted directory whose key was removed', () => {
  const disk = useMount(join(work, 'locked'), ['mkfs.ext4', 'python3'], () => {
    const [directory, key] = [join(work, 'locked'), join(work, 'key')];
    onLoop(['mkfs.ext4', '-q', '-F', '-O', 'encrypt'])(`${directory}.image`, directory);
    mkdirSync(join(directory, 'encrypted'));
    run('python3', '-c', encrypt, join(directory, 'encrypted'), key);
    writeFileSync(join(directory, 'encrypted/file'), 'x');
    run('python3', '-c', lock, directory, key);
  });

  test('the error says so, as SRC and as DEST', async (context) => {
    const encrypted = join(disk(context), 'encrypted');
    const copy = async (from: string, to: string) => copyTree(from, to, { onError: 'continue' });
    const refused = { code: 'ENOKEY', message: expect.stringContaining('its key has not been') };
    expect((await copy(encrypted, join(work, 'unlocked'))).errors).toMatchObject([refused]);
    expect((await copy(join(src, 'one/two'), encrypted)).errors).toMatchObject([refused]);
  });
});
