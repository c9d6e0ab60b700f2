/** Asks git about a directory: its repository, its settings, and the tracked files. */
import { isUtf8 } from 'node:buffer';
import {
  type BigIntStats,
  constants,
  access as systemAccess,
  lstat as systemLstat,
  readFile as systemReadFile,
  readlink as systemReadlink,
  stat as systemStat,
} from 'node:fs';
import { homedir } from 'node:os';
import { promisify } from 'node:util';
import { directoryOf, fromSystem, isAbsolute, isRoot, join } from '../walk/paths.js';
import { foldCase } from './wildmatch.js';

// Not fs/promises: loading it takes longer than copying a small tree.
const readFile = promisify(systemReadFile);
const stat = promisify(systemStat);
const access = promisify(systemAccess);
const lstat = promisify(systemLstat);
const readlink = promisify(systemReadlink);

export interface Repository {
  /** The work tree's root. */
  top: Buffer;
  /** The directory that has info/exclude: the repository itself, also for a worktree. */
  commonDir: Buffer;
}

export interface GitSettings {
  ignoreCase: boolean;
  /** core.excludesFile; absent if it is set to nothing, or there is no home directory. */
  excludesFile?: Buffer;
}

/**
 * Returns the repository if `directory` itself is the root of a repository, or of a worktree or submodule of
 * one. A submodule counts also if git refuses it. The repository around takes other such directories for ordinary ones.
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
    const link = found.isFile() ? await readLine(dotGit) : undefined;
    if (!link?.subarray(0, 8).equals(Buffer.from('gitdir: ')))
      return as(found.isFile() ? 'refused' : 'broken');
    gitDir = resolve(directory, link.subarray(8));
  }
  const common = await readLine(join(gitDir, Buffer.from('commondir')));
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
  const text = isSymlink ? await readlink(path, 'latin1') : await readLine(path);
  const wanted = isSymlink ? /^refs\// : /^(ref:[ \t\r\n]*refs\/|[0-9a-fA-F]{40})/;
  if (!wanted.test(text?.toString('latin1') ?? ''))
    throw Object.assign(new Error('no ref'), { code: 'EINVAL' });
}

/**
 * Returns the repository that has a directory, given by its real path. If git finds none, that is a broken one, which git then
 * refuses. Stops at a mount point, as git does.
 */
export async function repositoryAround(directory: Buffer): Promise<Repository | undefined> {
  const device = (await statOr(directory))?.dev;
  let broken: Repository | undefined;
  for (let at = directory; ; at = directoryOf(at)) {
    const { state, repository } = await lookAt(at);
    if (state === 'usable' || state === 'refused') return repository;
    if (state === 'broken') broken ??= repository;
    if (isRoot(at) || (await statOr(directoryOf(at)))?.dev !== device) return broken;
  }
}

async function statOr(path: Buffer): Promise<BigIntStats | undefined> {
  return stat(path, { bigint: true }).catch(() => undefined);
}

/** Returns undefined if it cannot be read, or is a FIFO and the like, which would wait for a writer. */
async function readLine(path: Buffer): Promise<Buffer | undefined> {
  const isFile = (await statOr(path))?.isFile();
  const content = isFile ? await readFile(path).catch(() => undefined) : undefined;
  return content && Buffer.from(content.toString('latin1').replace(/[\r\n]+$/, ''), 'latin1');
}

function resolve(directory: Buffer, path: Buffer): Buffer {
  return isAbsolute(path) ? path : join(directory, path);
}

/** The slash keeps newlines at the end. */
const goThere = 'cd "$(printf %b/ "$1")" && shift && exec git "$@"';

/** The most output of git that is read, in bytes. A string has no room for much more. */
const mostOutput = 500_000_000;

const gitEnvironment = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none', // before git 2.44
};

/** With this status the shell says that there is no such program. */
const notFound = 127;

/** Git's status after an error. */
const fatal = 128;

/**
 * Runs git without a hook's variables, which would select another repository. Also without what may run any program: a file system
 * monitor, and a connection to fetch objects that a partial clone lacks. Node passes only UTF-8, so that a shell has to go to other
 * directories.
 */
async function runGit(directory: Buffer, args: string[]): Promise<string> {
  const { execFile } = await import('node:child_process'); // loaded late: it takes 5 ms
  const { GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE, GIT_COMMON_DIR, GIT_PREFIX, ...env } =
    process.env;
  const words = ['-c', 'core.fsmonitor=false', ...args];
  const octal = (byte: number): string => `\\0${byte.toString(8).padStart(3, '0')}`;
  const [program, all] = isUtf8(directory)
    ? ['git', ['-C', directory.toString(), ...words]]
    : ['sh', ['-c', goThere, 'sh', Array.from(directory, octal).join(''), ...words]];
  return new Promise((resolve, reject) => {
    execFile(
      program,
      all,
      { env: { ...env, ...gitEnvironment }, encoding: 'latin1', maxBuffer: mostOutput },
      (error, stdout) => {
        if (error?.code === notFound) error.code = 'ENOENT';
        if (error) reject(error);
        else resolve(stdout);
      },
    );
  });
}

/** Returns git's own settings; its defaults if git gives no answer. */
export async function readSettings(directory: Buffer, top: Buffer): Promise<GitSettings> {
  const names = '^core\\.(excludesfile|ignorecase)$';
  const listed = await runGit(directory, [
    'config',
    '-z',
    '--type=path',
    '--get-regexp',
    names,
  ]).catch(
    () => '', // also if nothing is set
  );
  let ignoreCase = false;
  let excludesFile = await defaultExcludesFile(top);
  for (const entry of listed.split('\0')) {
    const at = entry.indexOf('\n');
    const [name, value] = at < 0 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)];
    if (name === 'core.ignorecase') ignoreCase = /^(true|yes|on|0*[1-9]\d*)$/i.test(value);
    else if (name === 'core.excludesfile') {
      excludesFile =
        value === '' ? undefined : resolve(top, fromSystem(Buffer.from(value, 'latin1')));
    }
  }
  return { ignoreCase, ...(excludesFile && { excludesFile }) };
}

/** If HOME belongs to another user, as in many containers, it counts as absent. */
async function defaultExcludesFile(top: Buffer): Promise<Buffer | undefined> {
  const home = process.env.HOME ?? homedir();
  const config = process.env.XDG_CONFIG_HOME || (home && `${home}/.config`);
  const path = resolve(top, Buffer.from(`${config}/git/ignore`));
  const isReadable = await access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
  return config && isReadable ? path : undefined;
}

/** What a repository tracks below a directory. Paths have a byte per character. */
export interface TrackedPaths {
  /** Files, symlinks and submodules. */
  paths: string[];
  symlinks: string[];
  submodules: string[];
  /**
   * The hashes of .gitignore files that have the skip-worktree bit, by path. If they are not in the work tree, as in a sparse checkout,
   * git reads them from the index.
   */
  leftOut: ReadonlyMap<string, string>;
}

export class Tracked {
  #paths: string[];
  /** Those that may be a directory. */
  #directories: ReadonlySet<string>;
  #submodules: ReadonlySet<string>;
  #fold: boolean;
  readonly leftOut: ReadonlyMap<string, string>;

  /** `follows`: symlinks to directories count as directories. */
  constructor(
    { paths, symlinks, submodules, leftOut }: TrackedPaths,
    fold: boolean,
    follows: boolean,
  ) {
    this.#fold = fold;
    this.leftOut = leftOut;
    // Git lists in the order of bytes, which is the order of strings with a byte per character.
    this.#paths = fold ? paths.map(foldCase).sort() : paths;
    const setOf = (names: string[]) => new Set(fold ? names.map(foldCase) : names);
    this.#submodules = setOf(submodules);
    this.#directories = follows ? setOf([...symlinks, ...submodules]) : this.#submodules;
  }

  /**
   * Returns whether an entry is tracked. As in git, a directory in the place of a tracked file that was deleted is not; one in
   * the place of a submodule is.
   */
  has(path: string, isDirectory: boolean): boolean {
    const wanted = this.#fold ? foldCase(path) : path;
    if (isDirectory) return this.#directories.has(wanted);
    return this.#paths[this.#indexOf(wanted)] === wanted;
  }

  /** No file, at least: git lists a submodule also in its own directory. */
  get isEmpty(): boolean {
    return this.#paths.every((path) => path === itself);
  }

  isSubmodule(path: string): boolean {
    return this.#submodules.has(this.#fold ? foldCase(path) : path);
  }

  /** Returns whether anything in the directory is tracked. */
  hasBelow(directory: string): boolean {
    const wanted = `${this.#fold ? foldCase(directory) : directory}/`;
    return this.#paths[this.#indexOf(wanted)]?.startsWith(wanted) === true;
  }

  /** Returns the index of the first path that is not less. */
  #indexOf(path: string): number {
    let low = 0;
    let high = this.#paths.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#paths[middle] as string) < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** `below`: paths to ask about, instead of all. Rejects if git is missing, or refuses. */
export async function readTracked(directory: Buffer, ...below: string[]): Promise<TrackedPaths> {
  // `H 100644 <hash> 0\t<path>`; S instead of H: skip-worktree
  const words = ['ls-files', '-z', '-t', '--stage', '--', ...below];
  const listed = (await runGit(directory, words)).split('\0').slice(0, -1);
  const pathOf = (entry: string): string => entry.slice(entry.indexOf('\t') + 1);
  const ofMode = (mode: string): string[] =>
    listed.filter((entry) => entry.startsWith(mode, 2)).map(pathOf);
  const leftOut = listed.filter((entry) => /^S .*\t(.*\/)?\.gitignore$/s.test(entry));
  return {
    paths: listed.map(pathOf),
    symlinks: ofMode('120000'),
    submodules: ofMode('160000'),
    leftOut: new Map(leftOut.map((entry) => [pathOf(entry), entry.split(' ')[2] ?? ''])),
  };
}

/** Reads a file of the repository that has a directory. */
export async function readBlob(directory: Buffer, hash: string): Promise<Buffer> {
  return Buffer.from(await runGit(directory, ['cat-file', 'blob', hash]), 'latin1');
}

/** How git lists a submodule without a git directory if it is asked there. */
const itself = './';

/**
 * Returns the submodule without a git directory that `directory` is in, of the repository at `top`. To be asked only if git lists
 * no file in `directory`. Rejects as readTracked() does.
 */
export async function submoduleAround(directory: Buffer, top: Buffer): Promise<Buffer | undefined> {
  // Git refuses all paths in such a submodule.
  const refused = await runGit(directory, ['check-ignore', '-q', 'any name']).then(
    () => false,
    ({ code }) => code === fatal,
  );
  if (!refused) return undefined;
  for (let at = directory; !at.equals(top); at = directoryOf(at)) {
    const { paths, submodules } = await readTracked(at);
    if (submodules.includes(itself)) return at;
    if (paths.length > 0) return undefined;
  }
  return undefined;
}
