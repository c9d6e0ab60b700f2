import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/copy-tree.js';
import { cp, cpSync, promises } from '../../lib/fs.js';
import type { CopyJob } from '../../lib/types.js';
import { makeFiles, makeSocket, makeSparseFile } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { needRoot, workDirectory } from '../support/work.js';

// cp, cpSync and promises.cp: what Node documents, in every form.

type Options = fs.CopyOptions;
type Copy = (src: string | URL, dest: string | URL, options?: Options) => Promise<void>;

const forms: [name: string, copy: Copy][] = [
  ['promises.cp', promises.cp],
  [
    'cp',
    (src, dest, options) =>
      new Promise((resolve, reject) => {
        const done = (error: unknown): void => (error === null ? resolve() : reject(error));
        if (options !== undefined) cp(src, dest, options, done);
        else cp(src, dest, done);
      }),
  ],
  ['cpSync', async (src, dest, options) => cpSync(src, dest, options as fs.CopySyncOptions)],
];

const work = workDirectory('fs');
const recursive = { recursive: true };
let number = 0;
let directory: string;
let src: string;
let dest: string;
beforeEach(() => {
  directory = join(work, `${number++}`);
  src = join(directory, 'src');
  dest = join(directory, 'dest');
  makeFiles(src, { file: 'content', 'directory/inner': 'inside' });
});

const read = (...path: string[]): string => fs.readFileSync(join(...path), 'utf8');
const names = (root: string): string[] =>
  (fs.readdirSync(root, { recursive: true }) as string[]).sort();

/** What a job rejects with, and its result. */
async function outcomeOf(job: CopyJob) {
  const thrown = await job.then(
    () => undefined,
    (error: unknown) => error,
  );
  return { thrown, result: job.result };
}

describe.each(forms)('%s', (form, copy) => {
  describe('a slash at the end of DEST asks for a directory, as in Node', () => {
    const cases = ['file', 'directory', 'missing'].flatMap((from) =>
      ['file', 'other', 'new', 'directory', 'link', 'dangling'].map((to) => [from, to] as const),
    );
    // Node looks at both paths at a time: if both fail, either may be the first. docs/fs.md has the symlink to nothing.
    const alike = cases.filter(([from, to]) => {
      if (from === 'directory' && to === 'dangling') return false;
      return from !== 'missing' || !['file', 'other'].includes(to);
    });
    test.each(alike)('%s to %s/', async (from, to) => {
      const outcomes: unknown[] = [];
      for (const cpOf of [fs.promises.cp, copy]) {
        fs.rmSync(directory, { recursive: true, force: true });
        makeFiles(directory, { file: 'content', other: 'other', 'directory/inner': '' });
        fs.symlinkSync('directory', join(directory, 'link'));
        fs.symlinkSync('nowhere', join(directory, 'dangling'));
        const dest = `${join(directory, to)}/`;
        const outcome = await cpOf(join(directory, from), dest, recursive).then(
          () => 'copied',
          ({ code }) => (code as string).replace(/^ERR_FS_CP_DIR_TO_NON_DIR$/, 'ENOTDIR'),
        );
        const tree = names(directory).filter(
          (name) => !fs.lstatSync(join(directory, name)).isDirectory(),
        );
        outcomes.push({ outcome, tree, other: read(directory, 'other') });
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
    });
  });

  describe('errors are Node’s', () => {
    const rows: [code: string, make: () => [string, string, Options?]][] = [
      ['ERR_FS_EISDIR', () => [src, dest]],
      ['ERR_FS_CP_EINVAL', () => [src, src, recursive]],
      ['ERR_FS_CP_EINVAL', () => [src, join(src, 'directory/new'), recursive]],
      ['ERR_FS_CP_EINVAL', () => [join(src, 'file'), join(src, 'file')]],
      ['ERR_FS_CP_DIR_TO_NON_DIR', () => [src, join(src, '../src/file'), recursive]],
      ['ERR_FS_CP_NON_DIR_TO_DIR', () => [join(src, 'file'), join(src, 'directory')]],
      [
        'ERR_FS_CP_DIR_TO_NON_DIR',
        () => {
          fs.symlinkSync('src', dest);
          return [join(src, 'directory'), dest, recursive];
        },
      ],
      [
        'ERR_FS_CP_EEXIST',
        () => {
          // Of a file: Node since 22 takes a directory that DEST has for one more thing that exists.
          fs.writeFileSync(dest, 'old');
          return [join(src, 'file'), dest, { force: false, errorOnExist: true }];
        },
      ],
      [
        'ERR_FS_CP_FIFO_PIPE',
        () => {
          execFileSync('mkfifo', [join(src, 'directory/fifo')]);
          return [src, dest, recursive];
        },
      ],
      [
        'ERR_FS_CP_SOCKET',
        () => {
          makeSocket(join(src, 'directory/socket'));
          return [src, dest, recursive];
        },
      ],
      [
        'ERR_FS_CP_SOCKET',
        () => {
          makeSocket(join(directory, 'socket'));
          return [join(directory, 'socket'), dest];
        },
      ],
      [
        'ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY',
        () => {
          fs.symlinkSync(join(src, 'directory'), join(src, 'link'));
          fs.mkdirSync(dest);
          fs.symlinkSync(src, join(dest, 'link'));
          return [src, dest, recursive];
        },
      ],
      ['ENOENT', () => [join(src, 'missing'), dest]],
    ];
    test.for(rows)('%s', async ([code, make]) => {
      const [from, to, options] = make();
      const failure = await copy(from, to, options).then(
        () => undefined,
        (error: unknown) => error as NodeJS.ErrnoException & { info?: object },
      );
      // The reference for both forms is the asynchronous one.
      const node = await fs.promises.cp(from, to, options).then(
        () => undefined,
        (error: unknown) => error as NodeJS.ErrnoException & { info?: object },
      );
      expect(failure?.code).toBe(code);
      expect(node?.code).toBe(code);
      if (form === 'cpSync') return expect(failure).toBeInstanceOf(Error); // test/fs/calls.test.ts has more
      const shown = (error: typeof node): object => {
        const { name, errno, syscall, path, info } = error ?? {};
        return { name, errno, syscall, path, info: { ...info, message: undefined } };
      };
      expect(shown(failure)).toEqual(shown(node));
    });
  });

  test('with dereference, an error tells the call that follows symlinks', async () => {
    fs.symlinkSync('loop', join(directory, 'loop'));
    const follow = { dereference: true };
    const call = { syscall: 'stat' };
    await expect(copy(join(directory, 'gone'), dest, follow)).rejects.toMatchObject(call);
    await expect(copy(join(src, 'file/x'), dest, follow)).rejects.toMatchObject(call);
    await expect(copy(join(src, 'file'), join(directory, 'loop'), follow)).rejects.toMatchObject(
      call,
    );
  });

  test('with errorOnExist, a directory that DEST has is an error', async () => {
    const options = { recursive: true, force: false, errorOnExist: true };
    await copy(src, dest, options);
    await expect(copy(src, dest, options)).rejects.toMatchObject({ code: 'ERR_FS_CP_EEXIST' });
    const other = join(directory, 'other');
    fs.mkdirSync(other);
    await expect(copy(src, other, options)).rejects.toMatchObject({ code: 'ERR_FS_CP_EEXIST' });
    expect(fs.readdirSync(other)).toEqual([]);
  });

  test('names that differ in a byte that is not UTF-8 are two directories', async () => {
    const [one, two] = [0xff, 0xfe].map((byte) =>
      Buffer.concat([Buffer.from(join(directory, 'a')), Buffer.from([byte])]),
    ) as [Buffer, Buffer];
    fs.renameSync(src, one);
    await copy(one as unknown as string, two as unknown as string, recursive);
    expect(fs.readdirSync(two).sort()).toEqual(['directory', 'file']);
  });

  describe('wrong arguments', () => {
    const rows: [name: string, args: [unknown, unknown, unknown?]][] = [
      ['src', [undefined, 'dest']],
      ['src', [1, 'dest']],
      ['dest', ['src', null]],
      ['null bytes', ['a\0b', 'dest']],
      ['options', ['src', 'dest', null]],
      ['options', ['src', 'dest', 'recursive']],
      ['options', ['src', 'dest', []]],
      ...['dereference', 'errorOnExist', 'force', 'preserveTimestamps', 'recursive'].map(
        (name): (typeof rows)[number] => [name, ['src', 'dest', { [name]: 1 }]],
      ),
      ['undefined', ['src', 'dest', { force: undefined }]],
      ['verbatimSymlinks', ['src', 'dest', { verbatimSymlinks: 'yes' }]],
      ['pair', ['src', 'dest', { verbatimSymlinks: true, dereference: true }]],
      ['filter', ['src', 'dest', { filter: null }]],
      ['filter', ['src', 'dest', { filter: 'x' }]],
      ['mode', ['src', 'dest', { mode: '1' }]],
      ['mode', ['src', 'dest', { mode: 8 }]],
      ['mode', ['src', 'dest', { mode: -1 }]],
      ['mode', ['src', 'dest', { mode: 1.5 }]],
    ];
    test.for(rows)('%s %j', async ([, args]) => {
      const thrown = async (call: (...args: never[]) => unknown): Promise<unknown> => {
        try {
          await call(...(args as unknown as never[]));
        } catch (error) {
          return error;
        }
        return undefined;
      };
      const theirs = (await thrown(fs.promises.cp)) as NodeJS.ErrnoException;
      const ours = (await thrown(copy)) as NodeJS.ErrnoException;
      expect(theirs.code).toMatch(/^ERR_/);
      expect(ours.code).toBe(theirs.code);
      expect(ours.name).toBe(theirs.name);
    });
  });

  test('a tree, by strings and URLs, relative too; missing parents are made', async () => {
    const to = join(directory, 'a/b/dest');
    await copy(pathToFileURL(src), pathToFileURL(to), recursive);
    expect(names(to)).toEqual(names(src));
    await copy(relative(process.cwd(), src), `${relative(process.cwd(), dest)}/`, recursive);
    expect(names(dest)).toEqual(names(src)); // a slash does not mean "into"
  });

  test('options are not written to, and unknown ones mean nothing', async () => {
    const options = Object.freeze({ recursive: true, bubbles: 1 });
    await copy(src, dest, options as Options);
    expect(read(dest, 'directory/inner')).toBe('inside');
  });

  test.for([
    ['force', {}, 'content'],
    ['force: false', { force: false }, 'old'],
    ['COPYFILE_EXCL', { mode: fs.constants.COPYFILE_EXCL }, 'content'],
    ['COPYFILE_FICLONE', { mode: fs.constants.COPYFILE_FICLONE }, 'content'],
  ] as const)('what DEST has: %s', async ([, options, content]) => {
    makeFiles(dest, { file: 'old' });
    await copy(src, dest, { recursive: true, ...options });
    expect(read(dest, 'file')).toBe(content);
  });

  test('COPYFILE_FICLONE_FORCE fails where there are no clones', async () => {
    const mode = fs.constants.COPYFILE_FICLONE_FORCE;
    await expect(copy(join(src, 'file'), dest, { mode })).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENOTSUP|ENOSYS|ENOTTY|EXDEV)$/),
    });
    expect(fs.existsSync(dest)).toBe(false);
  });

  test.for([
    [{}, 'absolute'],
    [{ verbatimSymlinks: true }, 'verbatim'],
    [{ dereference: true }, 'followed'],
  ] as const)('links with %j are %s', async ([options, kind]) => {
    fs.symlinkSync('../file', join(src, 'directory/link'));
    await copy(src, dest, { recursive: true, ...options });
    const link = join(dest, 'directory/link');
    if (kind === 'followed') expect(fs.lstatSync(link).isFile()).toBe(true);
    else expect(fs.readlinkSync(link)).toBe(kind === 'verbatim' ? '../file' : join(src, 'file'));
  });

  test('preserveTimestamps: modes as well', async () => {
    const modes = { file: 0o755, 'directory/inner': 0o640, directory: 0o711 };
    for (const [name, mode] of Object.entries(modes)) fs.chmodSync(join(src, name), mode);
    const old = { file: 1000, 'directory/inner': 2000, directory: 3000 };
    for (const [name, ms] of Object.entries(old))
      fs.utimesSync(join(src, name), ms / 1000, ms / 1000);
    await copy(src, dest, { recursive: true, preserveTimestamps: true });
    for (const [name, mode] of Object.entries(modes)) {
      const stat = fs.statSync(join(dest, name));
      expect([stat.mode & 0o777, stat.mtimeMs], name).toEqual([
        mode,
        old[name as keyof typeof old],
      ]);
    }
  });

  test('preserveTimestamps: files and directories', async () => {
    for (const name of ['directory/inner', 'file', 'directory'])
      fs.utimesSync(join(src, name), 1, 2);
    await copy(src, dest, { recursive: true, preserveTimestamps: true });
    for (const name of ['file', 'directory', 'directory/inner']) {
      expect(fs.statSync(join(dest, name))).toMatchObject({ atimeMs: 1000, mtimeMs: 2000 });
    }
  });

  test.runIf(process.platform === 'linux')('reading leaves the atime of SRC as it is', async () => {
    const names = ['directory/inner', 'file', 'directory', ''];
    for (const name of names) fs.utimesSync(join(src, name), 1, 2);
    await copy(src, dest, { recursive: true });
    for (const name of names) expect(fs.statSync(join(src, name)).atimeMs, name).toBe(1000);
  });

  test('preserveTimestamps: existing directories, whose modes stay', async () => {
    makeFiles(dest, { 'directory/other': '' });
    for (const name of ['', 'directory']) {
      fs.chmodSync(join(src, name), 0o700);
      fs.chmodSync(join(dest, name), 0o755);
      fs.utimesSync(join(src, name), 1, 2);
    }
    await copy(src, dest, { recursive: true });
    expect(fs.statSync(dest).mtimeMs).not.toBe(2000);
    await copy(src, dest, { recursive: true, preserveTimestamps: true });
    for (const name of ['', 'directory']) {
      const { mtimeMs, mode } = fs.statSync(join(dest, name));
      expect([mtimeMs, mode & 0o777]).toEqual([2000, 0o755]);
    }
  });

  describe('where versions of Node go wrong by accident', () => {
    test('files of procfs have content', async () => {
      await copy('/proc/version', dest);
      expect(read(dest)).toBe(read('/proc/version'));
    });

    test('links inside DEST are not written through, nor are other names of files', async () => {
      makeFiles(directory, { outside: 'mine', stored: 'kept' });
      fs.mkdirSync(dest);
      fs.symlinkSync('../outside', join(dest, 'file'));
      fs.mkdirSync(join(dest, 'directory'));
      fs.linkSync(join(directory, 'stored'), join(dest, 'directory/inner'));
      await copy(src, dest, recursive);
      expect([read(directory, 'outside'), read(directory, 'stored')]).toEqual(['mine', 'kept']);
      expect([read(dest, 'file'), read(dest, 'directory/inner')]).toEqual(['content', 'inside']);
    });

    test('modes of directories are kept, and holes', async () => {
      fs.chmodSync(join(src, 'directory'), 0o711);
      makeSparseFile(join(src, 'holes'), 8 << 20, [1 << 20]);
      await copy(src, dest, recursive);
      expect(fs.statSync(join(dest, 'directory')).mode & 0o777).toBe(0o711);
      expect(fs.statSync(join(dest, 'holes')).blocks * 512).toBeLessThan(1 << 20);
    });

    test('a copy into itself through a link is refused, and creates nothing', async () => {
      fs.symlinkSync('src/directory', join(directory, 'way'));
      const inside = [
        'way/new',
        'way/new/er',
        'src/new/er',
        'src/directory/../new',
        'src/gone/../new',
      ];
      const before = names(src);
      for (const to of inside) {
        for (const dereference of [false, true]) {
          const copied = copy(src, `${directory}/${to}`, { recursive: true, dereference });
          await expect(copied, to).rejects.toMatchObject({ code: 'ERR_FS_CP_EINVAL' });
          expect(names(src), to).toEqual(before);
        }
      }
    });

    test('with dereference, a directory does not replace a symlink to nothing', async () => {
      fs.symlinkSync('nowhere', dest);
      for (const to of [dest, `${dest}/`]) {
        await expect(copy(src, to, { recursive: true, dereference: true })).rejects.toMatchObject({
          code: 'ERR_FS_CP_DIR_TO_NON_DIR',
        });
      }
      expect(fs.readlinkSync(dest)).toBe('nowhere');
      expect(fs.existsSync(join(directory, 'nowhere'))).toBe(false);
    });

    test('files keep their owner, group and setuid; directories only setgid', async (context) => {
      needRoot(context);
      fs.symlinkSync('file', join(src, 'symlink'));
      for (const name of ['', 'file', 'directory', 'directory/inner', 'symlink']) {
        fs.lchownSync(join(src, name), 1234, 1235);
      }
      fs.chmodSync(join(src, 'file'), 0o6755);
      fs.chmodSync(join(src, 'directory'), 0o2775);
      makeFiles(dest, { file: 'existing' });
      await copy(src, dest, { recursive: true, preserveTimestamps: true });
      const ownerOf = (name: string): number[] => {
        const { uid, gid, mode } = fs.lstatSync(join(dest, name));
        return [uid, gid, mode & 0o7777];
      };
      expect(ownerOf('file')).toEqual([1234, 1235, 0o6755]);
      expect(ownerOf('directory/inner')).toEqual([1234, 1235, 0o644]);
      expect(ownerOf('directory')[2]).toBe(0o2775);
      for (const name of ['directory', 'symlink']) {
        expect(ownerOf(name).slice(0, 2), name).toEqual([process.getuid?.(), process.getgid?.()]);
      }
    });

    test('setuid does not go to another owner', async (context) => {
      needRoot(context);
      needUser(context);
      fs.chownSync(join(src, 'file'), 1234, 1234);
      fs.chmodSync(join(src, 'file'), 0o6755);
      fs.chmodSync(directory, 0o777);
      const { status, stderr } = spawnSync(asUser[0] ?? '', [
        ...[...asUser.slice(1), process.execPath, '-e'],
        'require(process.argv[1]).cpSync(...process.argv.slice(2), { recursive: true })',
        ...[fileURLToPath(new URL('../../dist/fs.cjs', import.meta.url)), src, dest],
      ]);
      expect(`${stderr}`).toBe('');
      expect(status).toBe(0);
      const { uid, mode } = fs.statSync(join(dest, 'file'));
      expect([uid, mode & 0o7777]).toEqual([USER, 0o755]);
    });

    test('a directory that may be listed and not searched: the error is Node’s', async (context) => {
      needUser(context);
      if (form === 'cpSync') return;
      fs.chmodSync(join(src, 'directory'), 0o444);
      fs.chmodSync(directory, 0o777);
      const code = `
        const [fs, src, dest] = process.argv.slice(1);
        require(fs).promises.cp(src, dest, { recursive: true }).catch(
          ({ message, code, syscall, path, dest }) => console.log({ message, code, syscall, path, dest }))`;
      const [own, nodes] = ['../../dist/fs.cjs', undefined].map((fs, i) =>
        execFileSync(
          asUser[0] ?? process.execPath,
          [
            ...[...asUser.slice(1), process.execPath, '-e', code],
            fs === undefined ? 'fs' : fileURLToPath(new URL(fs, import.meta.url)),
            ...[src, join(directory, `dest${i}`)],
          ],
          { encoding: 'utf8' },
        ),
      );
      expect(own).toContain("code: 'EACCES'");
      expect(own).toBe(nodes);
    });

    test('a loop of links ends', async () => {
      fs.symlinkSync('..', join(src, 'directory/loop'));
      await expect(copy(src, dest, { recursive: true, dereference: true })).rejects.toMatchObject({
        code: 'ELOOP',
      });
    });
  });

  describe('filter', () => {
    test('gets both paths as they were given, and what it leaves out is not entered', async () => {
      const [from, to] = [src, dest].map((path) => relative(process.cwd(), path));
      const asked: string[] = [];
      await copy(from ?? '', to ?? '', {
        recursive: true,
        filter(one, other) {
          asked.push(`${one} ${other}`);
          return !one.endsWith('directory');
        },
      });
      const pair = (name: string): string => `${join(from ?? '', name)} ${join(to ?? '', name)}`;
      expect(asked.sort()).toEqual(['', 'file', 'directory'].map(pair).sort());
      expect(names(dest)).toEqual(['file']);
    });

    test('has the options as its this', async () => {
      const options = {
        recursive: true,
        name: 'directory',
        filter(this: { name: string }, from: string) {
          return !from.endsWith(this.name);
        },
      };
      await copy(src, dest, options);
      expect(names(dest)).toEqual(['file']);
    });

    test('false for SRC itself: nothing happens, not even to what is missing', async () => {
      await copy(join(src, 'missing'), dest, { recursive: true, filter: () => false });
      expect(fs.existsSync(dest)).toBe(false);
    });

    test('what it throws comes out as it is', async () => {
      const thrown = { not: 'an error' };
      const filter = (path: string): boolean => {
        if (path.endsWith('inner')) throw thrown;
        return true;
      };
      await expect(copy(src, dest, { recursive: true, filter })).rejects.toBe(thrown);
    });

    test('also if that is the error of another copy', async () => {
      const thrown = await promises.cp(join(src, 'missing'), dest).catch((error) => error);
      const own = await copyTree(join(src, 'missing'), dest).catch((error) => error);
      for (const error of [thrown, own]) {
        const before = JSON.stringify(error.result);
        const filter = (path: string): boolean => {
          if (path.endsWith('inner')) throw error;
          return true;
        };
        await expect(copy(src, dest, { recursive: true, filter })).rejects.toBe(error);
        expect(JSON.stringify(error.result)).toBe(before);
        const { result, ...copied } = await outcomeOf(copyTree(src, dest, { filter }));
        expect(copied).toEqual({ thrown: error });
        expect(result.errors).toEqual([]);
      }
    });

    test('many directories', async () => {
      for (let i = 0; i < 300; i++)
        makeFiles(src, { [`${i % 7}/${i}/keep`]: '', [`${i % 7}/${i}/drop`]: '' });
      await copy(src, dest, { recursive: true, filter: (path) => !path.endsWith('drop') });
      expect(names(dest)).toEqual(names(src).filter((name) => !name.endsWith('drop')));
    });

    const later = async (path: string): Promise<boolean> => {
      await new Promise((go) => setTimeout(go, 1));
      return !path.endsWith('file');
    };
    const refuses = async (): Promise<void> => {
      const refused = { code: 'ERR_INVALID_RETURN_VALUE', name: 'TypeError' };
      await expect(copy(src, dest, { recursive: true, filter: later })).rejects.toMatchObject(
        refused,
      );
      expect(fs.existsSync(dest)).toBe(false);
      const below = (path: string) => (path === src ? true : later(path));
      await expect(
        copy(src, dest, { recursive: true, filter: below as NonNullable<Options['filter']> }),
      ).rejects.toMatchObject(refused);
    };
    const awaits = async (): Promise<void> => {
      await copy(src, dest, { recursive: true, filter: later });
      expect(names(dest)).toEqual(['directory', 'directory/inner']);
    };
    test('that gives promises', form === 'cpSync' ? refuses : awaits);
  });
});

test('cp() throws at once without a callback, and calls it with null', async () => {
  const call = cp as (...args: unknown[]) => void;
  expect(() => call(src, dest)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }));
  expect(() => call(src, dest, {})).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }),
  );
  let returned = false;
  const given = await new Promise((resolve) => {
    cp(join(src, 'file'), dest, (error) => resolve([error, returned]));
    returned = true;
  });
  expect(given).toEqual([null, true]);
});

test('cpSync copies each entry before it asks about the next one, in the order of Node', () => {
  const lines = 'one line\n';
  const names = ['a', 'b', 'c', 'd/e', 'd/f', 'd/g/h', 'd/g/i', 'j', 'k/l'];
  /** Empties each file when the copy should have it, and returns what was asked about. */
  const move = (copy: typeof fs.cpSync, root: string): string[] => {
    makeFiles(join(root, 'src'), Object.fromEntries(names.map((name) => [name, lines])));
    const asked: string[] = [];
    copy(join(root, 'src'), join(root, 'dest'), {
      recursive: true,
      filter(path) {
        const last = asked.at(-1);
        if (last !== undefined && fs.statSync(last).isFile()) fs.truncateSync(last);
        asked.push(path);
        return !path.endsWith('l');
      },
    });
    for (const name of names.filter((one) => one !== 'k/l')) {
      expect(read(join(root, 'dest', name)), name).toBe(lines);
    }
    expect(fs.existsSync(join(root, 'dest/k/l'))).toBe(false);
    return asked.map((path) => relative(root, path));
  };
  const [theirs, own] = [move(fs.cpSync, join(work, 'theirs')), move(cpSync, join(work, 'own'))];
  expect(own).toEqual(theirs);
});

test('cpSync needs no thread of the pool, and a filter may copy', () => {
  execFileSync('mkfifo', [join(directory, 'fifo')]);
  const script = `
    const fs = require('node:fs');
    const ours = require(process.argv[1]);
    // Nobody writes: the only thread waits for ever.
    fs.open(process.argv[2] + '/../fifo', () => {});
    const filter = () => { ours.cpSync(process.argv[2] + '/file', process.argv[3] + '-inner'); return true; };
    ours.cpSync(process.argv[2], process.argv[3], { recursive: true, filter });
    process.stdout.write(fs.readFileSync(process.argv[3] + '/directory/inner', 'utf8'));
    process.kill(process.pid);`;
  const library = new URL('../../dist/fs.cjs', import.meta.url).pathname;
  const { stdout, signal } = spawnSync(process.execPath, ['-e', script, library, src, dest], {
    encoding: 'utf8',
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  expect({ stdout, signal }).toEqual({ stdout: 'inside', signal: 'SIGTERM' });
});
