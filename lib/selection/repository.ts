/** Finds the repository that has a directory, as git does, without git. */
import {
  type BigIntStats,
  constants,
  access as systemAccess,
  readlink as systemReadlink,
} from 'node:fs';
import { delimiter } from 'node:path';
import { promisify } from 'node:util';
import { lstat, realpath, stat } from '../io/looks.js';
import { directoryOf, fromSystem, isAbsolute, isRoot, join, trimSlashes } from '../paths.js';
import { readWhole } from './files.js';

// Not fs/promises: loading it takes longer than copying a small tree.
const access = promisify(systemAccess);
const readlink = promisify(systemReadlink);

export interface Repository {
  /** The work tree's root. */
  top: Buffer;
  /** The directory that has info/exclude: the repository itself, also for a worktree. */
  commonDir: Buffer;
}

/**
 * Returns the repository if `directory` itself is the root of a repository, or of a worktree or submodule of
 * one. A submodule counts even if git refuses it. The repository around takes other such directories for ordinary ones.
 */
export async function repositoryAt(
  directory: Buffer,
  isSubmodule: boolean,
): Promise<Repository | undefined> {
  const { state, repository } = await lookAt(directory);
  return state === 'usable' || (isSubmodule && state === 'refused') ? repository : undefined;
}

/**
 * `none`: not even a broken one. `refused`: git ends with an error. `broken`: git looks further above, and refuses if there is no
 * other repository.
 */
interface Found {
  state: 'none' | 'usable' | 'refused' | 'broken';
  /** The one that is there, or would be. */
  repository: Repository;
}

/** Looks as git does (is_git_directory() in its setup.c). */
async function lookAt(directory: Buffer): Promise<Found> {
  const dotGit = join(directory, Buffer.from('.git'));
  const as = (state: Found['state'], commonDir = dotGit): Found => {
    return { state, repository: { top: directory, commonDir } };
  };
  const found = await statOr(dotGit);
  // A symlink may lead nowhere.
  if (!found) return as((await lstat(dotGit).catch(() => undefined)) ? 'broken' : 'none');
  let gitDir = dotGit;
  if (!found.isDirectory()) {
    const link = found.isFile() ? readLine(dotGit) : undefined;
    if (!link?.subarray(0, 8).equals(Buffer.from('gitdir: ')))
      return as(found.isFile() ? 'refused' : 'broken');
    gitDir = resolve(directory, link.subarray(8));
  }
  const common = readLine(join(gitDir, Buffer.from('commondir')));
  const commonDir = common ? resolve(gitDir, common) : gitDir;
  const needed = ['objects', 'refs'].map((name) =>
    access(join(commonDir, Buffer.from(name)), constants.X_OK),
  );
  const looks = await Promise.allSettled([checkHead(join(gitDir, Buffer.from('HEAD'))), ...needed]);
  const codes = looks.flatMap((look) => (look.status === 'rejected' ? [look.reason.code] : []));
  if (codes.length === 0) return as('usable', commonDir);
  if (found.isFile()) return as('refused');
  return as(
    codes.every((code) => code === 'ENOENT') && codes.length === looks.length ? 'none' : 'broken',
  );
}

/** Rejects if git would not take a file for the HEAD of a repository. A symlink may lead to a ref that is packed. */
async function checkHead(path: Buffer): Promise<void> {
  const isSymlink = (await lstat(path)).isSymbolicLink();
  const text = isSymlink ? await readlink(path, 'latin1') : readLine(path);
  const wanted = isSymlink ? /^refs\// : /^(ref:[ \t\r\n]*refs\/|[0-9a-fA-F]{40})/;
  if (!wanted.test(text?.toString('latin1') ?? ''))
    throw Object.assign(new Error('no ref'), { code: 'EINVAL' });
}

/**
 * Returns the repository that has a directory, given by its real path. If git finds none, that is a broken one, which git then
 * refuses. Stops at a mount point and below the directories of GIT_CEILING_DIRECTORIES, as git does.
 */
export async function repositoryAround(directory: Buffer): Promise<Repository | undefined> {
  const device = (await statOr(directory))?.dev;
  const ceilings = await ceilingDirectories();
  let broken: Repository | undefined;
  for (let at = directory; ; at = directoryOf(at)) {
    const { state, repository } = await lookAt(at);
    if (state === 'usable' || state === 'refused') return repository;
    if (state === 'broken') broken ??= repository;
    const above = directoryOf(at);
    if (isRoot(at) || ceilings.some((ceiling) => ceiling.equals(above))) return broken;
    if ((await statOr(above))?.dev !== device) return broken;
  }
}

/** Returns the real paths in GIT_CEILING_DIRECTORIES. Those after an empty entry count as they are, as in git. */
async function ceilingDirectories(): Promise<Buffer[]> {
  const entries = process.env.GIT_CEILING_DIRECTORIES?.split(delimiter) ?? [];
  const realUntil = entries.includes('') ? entries.indexOf('') : entries.length;
  const paths = entries.map(async (entry, index) => {
    const path = trimSlashes(fromSystem(Buffer.from(entry)));
    if (!isAbsolute(path)) return [];
    return [index < realUntil ? await realpath(path).catch(() => path) : path];
  });
  return (await Promise.all(paths)).flat();
}

/**
 * Returns what the `.git` of a directory says: it is a worktree of some repository, or another one. Undefined without a `.git`. It
 * may lead nowhere, for example after the repository was moved.
 */
export async function saysGit(directory: Buffer): Promise<'worktree' | 'repository' | undefined> {
  const dotGit = join(directory, Buffer.from('.git'));
  if (!(await lstat(dotGit).catch(() => undefined))) return undefined;
  const link = readLine(dotGit)?.toString('latin1') ?? '';
  return /^gitdir: .*\/worktrees\/[^/]+\/?$/s.test(link) ? 'worktree' : 'repository';
}

async function statOr(path: Buffer): Promise<BigIntStats | undefined> {
  return stat(path).catch(() => undefined);
}

/** Bytes. Git takes no larger file for a `.git`. */
const mostLine = 1 << 20;

/** Returns undefined if it cannot be read, or is no file. */
function readLine(path: Buffer): Buffer | undefined {
  try {
    const content = readWhole(path, true, mostLine);
    let end = content?.length ?? 0;
    while (content && (content[end - 1] === 0x0a || content[end - 1] === 0x0d)) end--;
    return content?.subarray(0, end);
  } catch {
    return undefined;
  }
}

export function resolve(directory: Buffer, path: Buffer): Buffer {
  return isAbsolute(path) ? path : join(directory, path);
}
