import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { cp, cpSync } from '../../lib/fs.js';
import { type CopyOptions, compareTrees, copyTree, doctor } from '../../lib/index.js';
import { useMount } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

// A volume that finds names in any case and form of Unicode, and lists them as they were created: APFS, or ext4 with
// casefold. test/support/folding.py serves it, because many kernels lack casefold. conflicts.test.ts and
// other-file-systems.test.ts have file systems that respell names, or give each spelling an inode number.

const work = workDirectory('names');
const server = join(import.meta.dirname, '../support/folding.py');
let number = 0;
let src: string;
beforeEach(() => {
  src = join(work, `${number++}`, 'src');
});

const NFC = 'caf\u00e9';
const NFD = 'cafe\u0301';
const COLLISION = 'ERR_FASTCP_NAME_COLLISION';

/** What a directory lists, in order. */
const names = (directory: string): string[] => readdirSync(directory).sort();
const content = (path: string): string => readFileSync(path, 'utf8');

/** The kernel takes a rename to another spelling for one that does nothing. */
function respell(directory: string, from: string, to: string): void {
  renameSync(join(directory, from), join(directory, 'meanwhile'));
  renameSync(join(directory, 'meanwhile'), join(directory, to));
}

/** All paths with their kinds and contents or targets. */
function look(directory: string): Record<string, string> {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  const pairs = entries.map((entry): [string, string] => {
    const path = join(entry.parentPath, entry.name);
    const what = entry.isFile() ? content(path) : entry.isSymbolicLink() ? readlinkSync(path) : '/';
    return [path.slice(directory.length + 1), what];
  });
  return Object.fromEntries(pairs.sort());
}

describe.each(['as-hfs', 'as-ext4'])('a volume that renames %s', (how) => {
  const mounted = join(work, how);
  const directoryOf = useMount(mounted, ['python3'], () => {
    mkdirSync(`${mounted}.backing`);
    execFileSync('python3', [server, how, `${mounted}.backing`, mounted], { stdio: 'pipe' });
  });
  const volume = (context: Parameters<typeof directoryOf>[0]): string => {
    const directory = join(directoryOf(context), `${number}`);
    mkdirSync(directory);
    return directory;
  };

  test('the volume is what these tests need', async (context) => {
    const directory = volume(context);
    makeFiles(directory, { README: '1', [`Sub/${NFC}`]: '2' });
    expect(content(join(directory, 'readme'))).toBe('1');
    expect(content(join(directory, 'sUB', NFD.toUpperCase()))).toBe('2');
    expect(names(directory)).toEqual(['README', 'Sub']);
    expect(names(join(directory, 'SUB'))).toEqual([NFC]);
    expect(() => mkdirSync(join(directory, 'ReadMe'))).toThrow('EEXIST');
    makeFiles(directory, { new: '3' });
    renameSync(join(directory, 'new'), join(directory, 'readme'));
    expect(names(directory)).toEqual(how === 'as-hfs' ? ['Sub', 'readme'] : ['README', 'Sub']);
    const [found] = (await doctor(directory)).directories;
    expect(found?.can).toMatchObject({ caseSensitive: expect.any(String) });
  });

  describe('two names of SRC that are one in DEST', () => {
    const pairs: [string, string][] = [
      ['README', 'readme'],
      ['\u00c9t\u00e9', '\u00e9t\u00e9'],
      [NFC, NFD],
    ];
    const modes: CopyOptions[] = [
      {},
      { sync: true },
      { mirror: true },
      { atomic: true },
      { preserve: true, verify: true },
      { include: '**' },
      { concurrency: 1 },
    ];
    const cases = pairs.flatMap((pair) => modes.map((options) => [...pair, options] as const));

    test.for(cases)('files: %s, %s, %o', async ([one, two, options], context) => {
      makeFiles(src, { [`in/${one}`]: 'one', [`in/${two}`]: 'second', 'in/other': 'x' });
      const dest = join(volume(context), 'dest');
      const copying = copyTree(src, dest, { ...options, onError: 'continue' });
      const { errors, files } = await copying.catch((error) => error.result);
      expect(errors).toMatchObject([{ code: COLLISION }]);
      expect(files).toBe(2);
      if (options.atomic) {
        expect(existsSync(dest)).toBe(false);
        expect(names(join(dest, '..'))).toEqual([]);
        return;
      }
      const [there = '', ...rest] = names(join(dest, 'in')).filter((name) => name !== 'other');
      expect([rest, [one, two].includes(there)]).toEqual([[], true]);
      expect(content(join(dest, 'in', there))).toBe(there === one ? 'one' : 'second');
    });

    test.for<CopyOptions>([
      {},
      { sync: true },
      { mirror: true },
      { force: false },
      { backup: 'numbered' },
    ])('files, again to the same DEST, %o', async (options, context) => {
      makeFiles(src, { 'in/README': 'one', 'in/readme': 'second' });
      const dest = join(volume(context), 'dest');
      await copyTree(src, dest, { onError: 'continue' });
      const before = look(dest);
      for (const _ of [1, 2]) {
        const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
        expect(errors).toMatchObject([{ code: COLLISION }]);
        expect(look(dest)).toMatchObject(before);
      }
    });

    test.for(modes.filter(({ atomic }) => !atomic))('directories: %o', async (options, context) => {
      makeFiles(src, { 'in/Sub/a': 'one', 'in/sub/b': 'two' });
      const dest = join(volume(context), 'dest');
      for (const _ of [1, 2]) {
        const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
        expect(errors).toMatchObject([{ code: COLLISION }]);
        const [there = '', ...rest] = names(join(dest, 'in'));
        expect(rest).toEqual([]);
        expect(look(join(dest, 'in', there))).toEqual(
          there === 'Sub' ? { a: 'one' } : { b: 'two' },
        );
      }
    });

    test.for(modes.filter(({ atomic }) => !atomic))(
      'a file, a directory and a symlink: %o',
      async (options, context) => {
        makeFiles(src, { 'in/What': 'one', 'in/WHAT/b': 'two' });
        symlinkSync('nowhere', join(src, 'in/what'));
        const dest = join(volume(context), 'dest');
        for (const _ of [1, 2]) {
          const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
          expect(errors).toMatchObject([{ code: COLLISION }, { code: COLLISION }]);
          const [there = '', ...rest] = names(join(dest, 'in'));
          expect(rest).toEqual([]);
          const own = Object.entries(look(join(src, 'in'))).filter(([path]) =>
            path.startsWith(there),
          );
          expect(look(join(dest, 'in'))).toEqual(Object.fromEntries(own));
        }
      },
    );

    test.for(modes.filter(({ atomic }) => !atomic))('hard links: %o', async (options, context) => {
      makeFiles(src, { 'in/README': 'one' });
      linkSync(join(src, 'in/README'), join(src, 'in/readme'));
      linkSync(join(src, 'in/README'), join(src, 'in/third'));
      const dest = join(volume(context), 'dest');
      const preserve = ['mode', 'hardLinks'] as const;
      for (const _ of [1, 2]) {
        const all = { preserve: [...preserve], ...options, onError: 'continue' } as const;
        const { errors } = await copyTree(src, dest, all);
        expect(errors).toMatchObject([{ code: COLLISION }]);
        const listed = names(join(dest, 'in'));
        expect(listed.map((name) => name.toLowerCase())).toEqual(['readme', 'third']);
        for (const name of listed) expect(statSync(join(dest, 'in', name)).nlink).toBe(2);
      }
    });
  });

  describe('a change of case and form in SRC', () => {
    const files = { 'Directory/In': '1', File: '2', [NFC]: '3', [`Sub/${NFC}/x`]: '4' };
    const make = (root: string): void => {
      makeFiles(root, files);
      symlinkSync('File', join(root, 'Symlink'));
      linkSync(join(root, 'File'), join(root, 'hard link'));
    };
    const change = (root: string): void => {
      respell(root, 'Directory', 'DIRECTORY');
      respell(join(root, 'DIRECTORY'), 'In', 'in');
      respell(root, 'File', 'FILE');
      respell(root, NFC, NFD);
      respell(join(root, 'Sub'), NFC, NFD.toUpperCase());
      respell(root, 'Symlink', 'symlink');
    };
    const expectAll = (dest: string): void => {
      for (const [path, text] of Object.entries(files))
        expect(content(join(dest, path))).toBe(text);
      expect(readlinkSync(join(dest, 'Symlink'))).toBe('File');
      expect(statSync(join(dest, 'hard link')).nlink).toBe(2);
      expect(readdirSync(dest).length).toBe(6);
    };
    const places = ['another', 'the same'];
    const modes: CopyOptions[] = [
      {},
      { preserve: true },
      { checksum: true, preserve: true },
      { include: '**' },
      { quickCheck: true, preserve: true },
    ];

    test.for(places.flatMap((place) => modes.map((options) => [place, options] as const)))(
      'mirrors, SRC on %s volume, %o',
      async ([place, options], context) => {
        const here = volume(context);
        const [from, dest] = [place === 'another' ? src : join(here, 'src'), join(here, 'dest')];
        make(from);
        const all: CopyOptions = { preserve: ['mode', 'hardLinks'], ...options, mirror: true };
        await copyTree(from, dest, all);
        change(from);
        makeFiles(dest, { 'directory/extra': '', extra: '', [`sub/${NFD}/extra`]: '' });
        expect(await copyTree(from, dest, all)).toMatchObject({
          files: 0,
          symlinks: 0,
          deleted: 3,
          errorCount: 0,
        });
        expectAll(dest);
        const second = { files: 0, symlinks: 0, directories: 0, hardLinks: 0, deleted: 0 };
        expect(await copyTree(from, dest, all)).toMatchObject({ ...second, errorCount: 0 });
        expectAll(dest);
      },
    );

    test.for<CopyOptions>([
      {},
      { sync: true },
      { force: false },
      { atomic: true },
      { update: true },
    ])('copies to a DEST of before, %o', async (options, context) => {
      const dest = join(volume(context), 'dest');
      make(src);
      await copyTree(src, dest, { preserve: true });
      change(src);
      makeFiles(src, { FILE: 'changed' });
      for (const _ of [1, 2]) {
        const { errors } = await copyTree(src, dest, { preserve: true, ...options });
        expect(errors).toEqual([]);
        expect(readdirSync(dest).length).toBe(6);
        const stays = options.force === false;
        expect(content(join(dest, 'file'))).toBe(stays ? '2' : 'changed');
        expect(content(join(dest, 'directory/IN'))).toBe('1');
        // A replacement of the whole has SRC's spellings.
        if (options.atomic) expect(names(dest)).toEqual(names(src));
      }
    });

    test.for(places)('compareTrees, SRC on %s volume', async (place, context) => {
      const here = volume(context);
      const [from, dest] = [place === 'another' ? src : join(here, 'src'), join(here, 'dest')];
      make(from);
      await copyTree(from, dest, { preserve: true });
      change(from);
      const { differences } = await compareTrees(from, dest, { preserve: true });
      expect(differences.filter(({ type }) => type !== 'metadata')).toEqual([]);
      makeFiles(from, { 'DIRECTORY/in': 'new', FILE: 'new' });
      makeFiles(dest, { extra: '' });
      const changed = await compareTrees(from, dest);
      expect(changed.errors).toEqual([]);
      const types = changed.differences.map(({ type }) => type).sort();
      expect(types).toEqual(['content', 'content', 'content', 'onlyInB']);
    });

    test('from the volume to another, where both spellings are names', async (context) => {
      const from = join(volume(context), 'src');
      make(from);
      const dest = join(src, '../dest');
      await copyTree(from, dest, { mirror: true, preserve: true });
      change(from);
      await copyTree(from, dest, { mirror: true, preserve: true });
      expect(look(dest)).toEqual(look(from));
      expect(await copyTree(from, dest, { mirror: true, preserve: true })).toMatchObject({
        files: 0,
        deleted: 0,
      });
    });
  });

  test('a mirror keeps an entry of another spelling, and its hard links', async (context) => {
    const dest = join(volume(context), 'dest');
    makeFiles(src, { [NFC]: '1' });
    await copyTree(src, dest, { mirror: true });
    linkSync(join(dest, NFC), join(dest, 'link'));
    makeFiles(dest, { extra: '' });
    respell(src, NFC, NFD);
    for (const deleted of [1, 0]) {
      const result = await copyTree(src, dest, { mirror: true });
      expect(result).toMatchObject({ files: 0, deleted, errorCount: 0 });
      expect(look(dest)).toEqual({ [NFC]: '1', link: '1' });
    }
  });

  test('two names of SRC that are one in DEST: its entry stays if one of them needs it', async (context) => {
    const dest = join(volume(context), 'dest');
    makeFiles(src, { [NFC]: 'a file', [`${NFD}/in`]: 'new' });
    makeFiles(dest, { [`${NFC}/in`]: 'old', [`${NFC}/extra`]: '' });
    for (const deleted of [1, 0]) {
      const copying = copyTree(src, dest, { mirror: true, onError: 'continue' });
      const { errors, ...result } = await copying.catch((error) => error.result);
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_NON_DIR_TO_DIR' }]);
      expect(result).toMatchObject({ deleted });
      expect(look(dest)).toEqual({ [NFC]: '/', [`${NFC}/in`]: 'new' });
    }
  });

  test('a directory in place of a file of another spelling, and the reverse, is an error', async (context) => {
    const dest = join(volume(context), 'dest');
    makeFiles(src, { 'Was a file/x': '1', 'Was a directory': '2' });
    makeFiles(dest, { 'was a FILE': '3', 'WAS a directory/y': '4' });
    const before = look(dest);
    const { errors } = await copyTree(src, dest, { mirror: true, onError: 'continue' });
    const codes = errors.map(({ code }) => code).sort();
    expect(codes).toEqual(['ERR_FS_CP_DIR_TO_NON_DIR', 'ERR_FS_CP_NON_DIR_TO_DIR']);
    expect(look(dest)).toEqual(before);
  });

  const refused = /^ERR_FS_CP_EINVAL|^ERR_FASTCP_DEST_PROTECTED/;
  test.for<[string, string, CopyOptions]>([
    ['P', 'p', {}],
    ['P', 'p', { mirror: true }],
    ['P', 'p', { atomic: true }],
    ['P', 'p', { atomic: 'two-step' }],
    ['p', 'P/sub/', {}],
    ['P', 'p/SUB/new', {}],
    ['P', 'p/new/deep', { mirror: true }],
    ['P', 'p/SUB/new', { exclude: 'other' }],
    ['P/Sub', 'p', { mirror: true }],
    ['p/sub', 'P', { mirror: true }],
    ['p/sub', 'P', { atomic: true }],
    [`P/${NFC}`, `p/${NFD}`, {}],
    [`P/${NFC}`, `p/${NFD}/new`, {}],
    [`P/${NFD}`, 'p', { mirror: true }],
    [`P/${NFD}`, 'p', { atomic: true }],
  ])('%s to %s is refused, %o', async ([from, to, options], context) => {
    const here = volume(context);
    makeFiles(here, { 'P/Sub/file': 'x', 'P/other': 'y', [`P/${NFC}/file`]: 'z' });
    const before = look(here);
    const dest = to.endsWith('/') ? `${join(here, to)}/` : join(here, to);
    const copying = copyTree(join(here, from), dest, options);
    await expect(copying).rejects.toMatchObject({ code: expect.stringMatching(refused) });
    expect(look(here)).toEqual(before);
  });

  test.for([
    ['P', 'p'],
    ['P', 'p/SUB/new'],
    [`P/${NFC}`, `p/${NFD}/new`],
    ['P/other', 'p/OTHER'],
  ] as const)('fastcp/fs: %s to %s is refused', async ([from, to], context) => {
    const here = volume(context);
    makeFiles(here, { 'P/Sub/file': 'x', 'P/other': 'y', [`P/${NFC}/file`]: 'z' });
    const before = look(here);
    const [one, other] = [join(here, from), join(here, to)];
    const code = 'ERR_FS_CP_EINVAL';
    expect(() => cpSync(one, other, { recursive: true })).toThrow(
      expect.objectContaining({ code }),
    );
    await new Promise<void>((resolve) => {
      cp(one, other, { recursive: true }, (error) => {
        expect(error).toMatchObject({ code });
        resolve();
      });
    });
    expect(look(here)).toEqual(before);
  });

  test.for<CopyOptions>([{}, { mirror: true }])(
    'a file to itself in another spelling is refused, %o',
    async (options, context) => {
      const here = volume(context);
      makeFiles(here, { File: 'x' });
      const copying = copyTree(join(here, 'File'), join(here, 'fILE'), options);
      await expect(copying).rejects.toMatchObject({ code: 'ERR_FS_CP_EINVAL' });
      expect(look(here)).toEqual({ File: 'x' });
    },
  );

  test.for(['Out', 'out', 'nothing'])(
    'DEST in SRC, named in another spelling, is not copied into itself: %s excluded',
    async (exclude, context) => {
      const here = volume(context);
      makeFiles(here, { 'P/Sub/file': 'x', 'P/Out/old': 'y' });
      const copying = copyTree(join(here, 'P'), join(here, 'p/out/copy'), { exclude });
      await expect(copying).rejects.toMatchObject({ code: 'ERR_FS_CP_EINVAL' });
      expect(existsSync(join(here, 'P/Out/copy/Out/copy'))).toBe(false);
    },
  );

  test('atomic replaces a DEST that is named in another spelling', async (context) => {
    const here = volume(context);
    makeFiles(src, { new: '1' });
    for (const atomic of [true, 'two-step'] as const) {
      makeFiles(here, { 'Dest/old': 'x' });
      await copyTree(src, join(here, 'dEST'), { atomic });
      expect(names(here).map((name) => name.toLowerCase())).toEqual(['dest']);
      expect(look(join(here, 'Dest'))).toEqual({ new: '1' });
    }
  });

  test('backups of an entry in another spelling', async (context) => {
    const dest = join(volume(context), 'dest');
    makeFiles(src, { README: 'new' });
    makeFiles(dest, { readme: 'old', 'ReadMe.~1~': 'older' });
    for (const _ of [1, 2]) await copyTree(src, dest, { backup: 'numbered' });
    const found = names(dest).map((name) => [name.toLowerCase(), content(join(dest, name))]);
    expect(found.sort()).toEqual([
      ['readme', 'new'],
      ['readme.~1~', 'older'],
      ['readme.~2~', 'old'],
      ['readme.~3~', 'new'],
    ]);
  });

  test.for(['a DEST of before', 'a new DEST', 'a DEST that has one of the names'])(
    'several SRC whose names are one, and %s',
    async (how, context) => {
      const here = volume(context);
      makeFiles(join(src, 'one'), { 'Name/a': '1', README: '1' });
      makeFiles(join(src, 'two'), { 'name/b': '2', readme: '2' });
      const dest = join(here, 'dest');
      const before = how === 'a DEST that has one of the names' ? { README: '0' } : {};
      if (how !== 'a new DEST') makeFiles(dest, { there: 't', ...before });
      const wanted = look(here);
      for (const options of [{ mirror: true }, {}]) {
        for (const [one, two] of [
          ['Name', 'name'],
          ['README', 'readme'],
        ] as const) {
          const from = [join(src, 'one', one), join(src, 'two', two)];
          const failure = { code: COLLISION, path: from[1], dest: join(dest, two) };
          await expect(copyTree(from, `${dest}/`, options)).rejects.toMatchObject(failure);
          expect(look(here)).toEqual(wanted);
          const { errors } = await copyTree(from, `${dest}/`, { ...options, onError: 'continue' });
          expect(errors).toMatchObject([failure]);
          const [copied] = Object.keys(look(src)).filter((path) => path.startsWith(`one/${one}`));
          Object.assign(wanted, look(here));
          expect(Object.keys(wanted)).toContain(copied?.replace('one', 'dest'));
        }
      }
      expect([wanted['dest/Name/a'], wanted['dest/README']]).toEqual(['1', '1']);
    },
  );

  test('several SRC, with one between those whose names are one', async (context) => {
    const dest = join(volume(context), 'dest');
    makeFiles(src, { 'one/readme': '1', 'two/readme.': '2', 'three/README': '3' });
    const from = ['one/readme', 'two/readme.', 'three/README'].map((name) => join(src, name));
    const failure = { code: COLLISION, path: from[2], dest: join(dest, 'README') };
    const { errors } = await copyTree(from, `${dest}/`, { onError: 'continue' });
    expect(errors).toMatchObject([failure]);
    expect(look(dest)).toEqual({ readme: '1', 'readme.': '2' });
  });

  test('a name that is not UTF-8 is refused by the volume, and the others are copied', async (context) => {
    const dest = join(volume(context), 'dest');
    makeFiles(src, { 'in/file': 'x' });
    execFileSync('sh', ['-c', `touch "$(printf '%s/in/\\377' '${src}')"`]);
    for (const options of [{}, { mirror: true }, { sync: true }]) {
      const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
      expect(errors).toMatchObject([{ code: 'EILSEQ' }]);
      expect(look(dest)).toEqual({ in: '/', 'in/file': 'x' });
    }
  });
});
