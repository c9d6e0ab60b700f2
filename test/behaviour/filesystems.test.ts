import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild } from '../support/child.js';
import { countsOf, differences, readTree } from '../support/compare.js';
import {
  clones,
  type FileSystemName,
  fileSystemNames,
  useFileSystem,
} from '../support/filesystems.js';
import { makeZoo } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { isRoot, workDirectory } from '../support/work.js';

// A tree of everything that a tree can hold, on and between the file systems of users.

const work = workDirectory('filesystems');
const zoo = join(work, 'zoo');
const users = join(work, 'users');

beforeAll(() => {
  makeZoo(zoo, isRoot ? {} : { owner: process.getuid?.() ?? 0 });
  makeZoo(users, { owner: isRoot ? USER : (process.getuid?.() ?? 0), wide: 300 });
});

const mounts = new Map(
  fileSystemNames.map((name) => [
    name,
    useFileSystem(work, name, { lower: (directory) => place(zoo, join(directory, 'zoo')) }),
  ]),
);

const mounted = (name: FileSystemName, context: Parameters<ReturnType<typeof useFileSystem>>[0]) =>
  mounts.get(name)?.(context) ?? '';

/** Puts a tree on a file system without the code that is tested. */
function place(from: string, to: string): string {
  execFileSync('cp', ['-a', '--sparse=always', from, to]);
  return to;
}

type Reflink = NonNullable<CopyOptions['reflink']>;

describe('within', () => {
  const rows = fileSystemNames.flatMap((name) => {
    const modes: Reflink[] = clones(name) ? ['auto', 'never', 'always'] : ['auto', 'never'];
    return modes.map((reflink) => [name, reflink] as const);
  });

  test.for(rows)('%s, reflink %s', async ([name, reflink], context) => {
    const directory = mounted(name, context);
    const src = join(directory, 'zoo');
    // An overlay has it in its lower layer, and some of it changed since.
    if (name === 'overlay') changeUpper(src, reflink);
    else if (!existsSync(src)) place(zoo, src);
    const dest = join(directory, `copy ${reflink}`);
    const result = await copyTree(src, dest, { reflink });
    expect(differences(src, dest)).toEqual([]);
    expect(result).toMatchObject(countsOf(src));
    expect(result.methods.clone + result.methods.copyFileRange + result.methods.readWrite).toBe(
      result.files,
    );
    if (reflink === 'never') expect(result.methods.readWrite).toBe(result.files);
    if (!clones(name) || reflink === 'never') expect(result.methods.clone).toBe(0);
    else expect(result.methods.clone).toBeGreaterThan(0);
    if (reflink === 'always') expect(result.methods.readWrite).toBe(emptyFiles(src));
    rmSync(dest, { recursive: true });
  });

  test.for(fileSystemNames)("%s, an ordinary user's", { tags: ['all'] }, async (name, context) => {
    needUser(context);
    const directory = mounted(name, context);
    const home = join(directory, 'home');
    mkdirSync(home);
    execFileSync('chown', [`${USER}`, home]);
    const src = place(users, join(home, 'src'));
    const dest = join(home, 'copy');
    const { error, result } = await copyInChild({ src, dest }, asUser);
    expect(error).toBeUndefined();
    expect(differences(src, dest)).toEqual([]);
    expect(result).toMatchObject(countsOf(src));
    rmSync(home, { recursive: true });
  });
});

function changeUpper(src: string, round: string): void {
  appendFileSync(join(src, 'a file'), round);
  rmSync(join(src, 'wide', String(round.length)), { force: true });
  writeFileSync(join(src, 'one', round), 'new');
}

function emptyFiles(root: string): number {
  return [...readTree(root).values()].filter(({ kind, size }) => kind === 'file' && size === 0n)
    .length;
}

describe('between', { tags: ['all'] }, () => {
  test.for([
    ['tmpfs', 'ext4', 'auto'],
    ['ext4', 'btrfs', 'auto'],
    ['btrfs', 'xfs', 'auto'],
    ['xfs', 'overlay', 'never'],
    ['overlay', 'tmpfs', 'auto'],
  ] as const)('%s and %s', async ([from, to, reflink], context) => {
    const src = join(mounted(from, context), 'between');
    const dest = join(mounted(to, context), 'between copy');
    place(zoo, src);
    const result = await copyTree(src, dest, { reflink });
    expect(differences(src, dest)).toEqual([]);
    expect(result).toMatchObject({ ...countsOf(src), methods: { clone: 0 } });
    expect(result.methods.copyFileRange + result.methods.readWrite).toBe(result.files);
    rmSync(src, { recursive: true });
    rmSync(dest, { recursive: true });
  });
});

describe('reflink always where there are no clones', { tags: ['all'] }, () => {
  test.for([
    ['ext4', 'ext4'],
    ['tmpfs', 'tmpfs'],
    ['xfs', 'btrfs'],
  ] as const)('%s to %s', async ([from, to], context) => {
    const src = join(mounted(from, context), 'impossible');
    const dest = join(mounted(to, context), 'impossible copy');
    mkdirSync(src);
    writeFileSync(join(src, 'file'), 'x');
    const code = expect.stringMatching(/^(EOPNOTSUPP|ENOTSUP|EXDEV|ENOTTY)$/);
    const message = expect.stringContaining('FICLONE');
    const path = join(src, 'file');
    await expect(copyTree(src, dest, { reflink: 'always' })).rejects.toMatchObject({
      code,
      message,
      path,
      dest: join(dest, 'file'),
    });
    expect([...readTree(dest).keys()]).toEqual(['']);
  });
});
