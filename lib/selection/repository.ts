/** What git knows about a directory: where its repository is, its settings, and what it tracks. */
import * as fs from 'node:fs';
import os from 'node:os';
import { promisify } from 'node:util';
import { directoryOf, fromSystem, isAbsolute, isRoot, join } from '../walk/paths.js';
import { foldCase } from './wildmatch.js';

// Not fs/promises: loading it takes longer than copying a small tree.
const readFile = promisify(fs.readFile);
const stat = promisify(fs.stat);
const access = promisify(fs.access);

export interface Repository {
  /** The work tree's root. */
  top: Buffer;
  /** Where info/exclude is: the repository itself, also for a worktree. */
  commonDir: Buffer;
}

export interface GitSettings {
  ignoreCase: boolean;
  /** core.excludesFile; absent where it is set to nothing, or there is no home directory. */
  excludesFile?: Buffer;
}

/** Where `directory` itself is the root of a repository, or of a worktree or submodule of one. */
export async function repositoryAt(directory: Buffer): Promise<Repository | undefined> {
  const dotGit = join(directory, Buffer.from('.git'));
  const found = await statOr(dotGit);
  if (!found) return undefined;
  let gitDir = dotGit;
  if (!found.isDirectory()) {
    const link = await readLine(dotGit);
    if (!link?.subarray(0, 8).equals(Buffer.from('gitdir: '))) return undefined;
    gitDir = resolve(directory, link.subarray(8));
  }
  const common = await readLine(join(gitDir, Buffer.from('commondir')));
  const commonDir = common ? resolve(gitDir, common) : gitDir;
  const needed = [join(gitDir, Buffer.from('HEAD'))];
  for (const name of ['objects', 'refs']) needed.push(join(commonDir, Buffer.from(name)));
  const all = await Promise.all(needed.map(statOr));
  return all.every(Boolean) ? { top: directory, commonDir } : undefined;
}

/** The repository that a directory, given by its real path, lies in. As git does, stops at a mount point. */
export async function repositoryAround(directory: Buffer): Promise<Repository | undefined> {
  const device = (await statOr(directory))?.dev;
  for (let at = directory; ; at = directoryOf(at)) {
    const repository = await repositoryAt(at);
    if (repository) return repository;
    if (isRoot(at) || (await statOr(directoryOf(at)))?.dev !== device) return undefined;
  }
}

async function statOr(path: Buffer): Promise<fs.BigIntStats | undefined> {
  return stat(path, { bigint: true }).catch(() => undefined);
}

async function readLine(path: Buffer): Promise<Buffer | undefined> {
  const content = await readFile(path).catch(() => undefined);
  return content && Buffer.from(content.toString('latin1').replace(/[\r\n]+$/, ''), 'latin1');
}

function resolve(directory: Buffer, path: Buffer): Buffer {
  return isAbsolute(path) ? path : join(directory, path);
}

/** A hook's variables would answer for another repository, and a file system monitor may run anything. */
async function runGit(directory: Buffer, args: string[]): Promise<string> {
  const { execFile } = await import('node:child_process'); // late: it takes 5 ms
  const { GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE, GIT_COMMON_DIR, GIT_PREFIX, ...env } =
    process.env;
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      ['-C', directory.toString(), '-c', 'core.fsmonitor=false', ...args],
      { env: { ...env, GIT_OPTIONAL_LOCKS: '0' }, encoding: 'latin1', maxBuffer: Infinity },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    );
  });
}

/** Git's own answer; its defaults where git does not answer. */
export async function readSettings(directory: Buffer, top: Buffer): Promise<GitSettings> {
  const names = '^core\\.(excludesfile|ignorecase)$';
  const listed = await runGit(directory, [
    'config',
    '-z',
    '--type=path',
    '--get-regexp',
    names,
  ]).catch(
    () => '', // also where nothing is set
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

/** Where HOME is another user's, as in many containers, it is as good as absent. */
async function defaultExcludesFile(top: Buffer): Promise<Buffer | undefined> {
  const home = process.env.HOME ?? os.homedir();
  const config = process.env.XDG_CONFIG_HOME || (home && `${home}/.config`);
  const path = resolve(top, Buffer.from(`${config}/git/ignore`));
  const isReadable = await access(path, fs.constants.R_OK).then(
    () => true,
    () => false,
  );
  return config && isReadable ? path : undefined;
}

/** What a repository tracks below a directory. Paths hold a byte per character. */
export class Tracked {
  #paths: string[];
  #fold: boolean;

  constructor(paths: string[], fold: boolean) {
    this.#fold = fold;
    // Git lists in the order of bytes, which is that of strings with a byte per character.
    this.#paths = fold ? paths.map(foldCase).sort() : paths;
  }

  /** A file or link, or a submodule's directory. */
  has(path: string): boolean {
    const wanted = this.#fold ? foldCase(path) : path;
    return this.#paths[this.#indexOf(wanted)] === wanted;
  }

  /** Anything in the directory. */
  hasBelow(directory: string): boolean {
    const wanted = `${this.#fold ? foldCase(directory) : directory}/`;
    return this.#paths[this.#indexOf(wanted)]?.startsWith(wanted) === true;
  }

  /** Of the first path that is not less. */
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

/** Rejects where git is not there, or refuses. */
export async function readTracked(directory: Buffer): Promise<string[]> {
  const listed = await runGit(directory, ['ls-files', '-z']);
  return listed.split('\0').slice(0, -1);
}
