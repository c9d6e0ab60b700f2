/** Asks git about a directory: its settings, the tracked files, and files of the repository. */
import { isUtf8 } from 'node:buffer';
import { constants, access as systemAccess } from 'node:fs';
import { promisify } from 'node:util';
import { getBuiltinModule, isNextTickFake } from '../builtins.js';
import { directoryOf, fromSystem, homeDirectory, join } from '../paths.js';
import { resolve } from './repository.js';
import { itself, type TrackedPaths } from './tracked.js';

const access = promisify(systemAccess);

export interface GitSettings {
  ignoreCase: boolean;
  /** core.excludesFile; absent if it is set to nothing, or there is no home directory. */
  excludesFile?: Buffer;
  /** Why git gave no answer. Then the others are its defaults. */
  failure?: Error;
  /** The default for core.excludesFile, if it applies and cannot be read. */
  unreadable?: Buffer;
}

/** The most output of git that is read, in bytes. A string has no room for much more. */
const mostOutput = 500_000_000;

const gitEnvironment = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none', // before git 2.44
};

/**
 * Those of a hook, which belong to its repository (`git rev-parse --local-env-vars`, without settings), and those that change where
 * git looks for one, because fastcp looks for itself.
 */
const othersVariables: ReadonlySet<string> = new Set([
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR', 'GIT_PREFIX'],
  ...['GIT_CONFIG', 'GIT_INTERNAL_SUPER_PREFIX'],
  ...['GIT_IMPLICIT_WORK_TREE', 'GIT_NAMESPACE', 'GIT_OBJECT_DIRECTORY', 'GIT_QUARANTINE_PATH'],
  ...['GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_GRAFT_FILE', 'GIT_SHALLOW_FILE'],
  ...['GIT_REPLACE_REF_BASE', 'GIT_NO_REPLACE_OBJECTS', 'GIT_LITERAL_PATHSPECS'],
  ...['GIT_GLOB_PATHSPECS', 'GIT_NOGLOB_PATHSPECS', 'GIT_ICASE_PATHSPECS'],
  'GIT_DISCOVERY_ACROSS_FILESYSTEM',
]);

/** Git's status if nothing is set. */
const nothingSet = 1;

/** Git's status after an error. */
const fatal = 128;

export class Git {
  #signal: AbortSignal | undefined;

  /** Git waits where the repository has a FIFO, for example. `signal` ends it. */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Returns git's own settings. */
  async settings(directory: Buffer, top: Buffer): Promise<GitSettings> {
    const names = '^core\\.(excludesfile|ignorecase)$';
    const words = ['config', '-z', '--type=path', '--get-regexp', names];
    let failure: Error | undefined;
    const listed = await this.#run(directory, words).catch((error) => {
      if (error.code !== nothingSet) failure = error;
      return '';
    });
    let ignoreCase = false;
    const usual = await defaultExcludesFile(top);
    let excludesFile = usual?.isReadable ? usual.path : undefined;
    let unreadable = usual?.isReadable ? undefined : usual?.path;
    for (const entry of listed.split('\0')) {
      const at = entry.indexOf('\n');
      const [name, value] = at < 0 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)];
      if (name === 'core.ignorecase') ignoreCase = /^(true|yes|on|0*[1-9]\d*)$/i.test(value);
      else if (name === 'core.excludesfile') {
        unreadable = undefined;
        excludesFile =
          value === '' ? undefined : resolve(top, fromSystem(Buffer.from(value, 'latin1')));
      }
    }
    return {
      ignoreCase,
      ...(excludesFile && { excludesFile }),
      ...(failure && { failure }),
      ...(unreadable && { unreadable }),
    };
  }

  /** `below`: paths to ask about, instead of all. Rejects if git is missing, or refuses. */
  async tracked(directory: Buffer, ...below: string[]): Promise<TrackedPaths> {
    // `H 100644 <hash> 0\t<path>`; S instead of H: skip-worktree
    const words = ['ls-files', '-z', '-t', '--stage', '--', ...below];
    const listed = (await this.#run(directory, words)).split('\0').slice(0, -1);
    const pathOf = (entry: string): string => entry.slice(entry.indexOf('\t') + 1);
    const ofMode = (mode: string): string[] =>
      listed.filter((entry) => entry.startsWith(mode, 2)).map(pathOf);
    const isRules = (path: string): boolean =>
      path === '.gitignore' || path.endsWith('/.gitignore');
    const leftOut = listed.filter((entry) => entry.startsWith('S') && isRules(pathOf(entry)));
    return {
      paths: listed.map(pathOf),
      symlinks: ofMode('120000'),
      submodules: ofMode('160000'),
      leftOut: new Map(leftOut.map((entry) => [pathOf(entry), entry.split(' ')[2] ?? ''])),
    };
  }

  /** Returns the registered worktrees below a directory, given by its real path: their paths from there. */
  async worktrees(directory: Buffer): Promise<string[]> {
    const words = ['worktree', 'list', '--porcelain'];
    const listed = await this.#run(directory, [...words, '-z']).catch(
      () => this.#run(directory, words), // before git 2.36
    );
    const begin = join(directory, Buffer.alloc(0)).toString('latin1');
    return listed
      .split(listed.includes('\0') ? '\0' : '\n')
      .flatMap((line) => (line.startsWith('worktree ') ? [line.slice('worktree '.length)] : []))
      .map((path) => fromSystem(Buffer.from(path, 'latin1')).toString('latin1'))
      .flatMap((path) => (path.startsWith(begin) ? [path.slice(begin.length)] : []));
  }

  /**
   * Returns the directories below a directory that have ignored files: their paths from there, with a slash at their ends. Of a
   * nested repository only the root; if its `.git` leads nowhere, git takes it for an ordinary directory.
   */
  async ignoredDirectories(directory: Buffer): Promise<Set<string>> {
    const words = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard'];
    const found = new Set<string>();
    for (const path of (await this.#run(directory, words)).split('\0')) {
      for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
        const above = path.slice(0, end + 1);
        if (found.has(above)) break;
        found.add(above);
      }
    }
    return found;
  }

  /**
   * Returns which part of its worktree a directory is: empty, or a path with a slash at its end. Rejects if it is in no worktree.
   */
  async partOf(directory: Buffer): Promise<string> {
    const words = ['rev-parse', '--is-inside-work-tree', '--show-prefix'];
    const [, part] = /^true\n(.*)\n$/s.exec(await this.#run(directory, words)) ?? [];
    if (part === undefined) throw new Error('this is a repository without a work tree');
    return part;
  }

  /** Reads a file of the repository that has a directory. */
  async blob(directory: Buffer, hash: string): Promise<Buffer> {
    return Buffer.from(await this.#run(directory, ['cat-file', 'blob', hash]), 'latin1');
  }

  /**
   * Returns the submodule without a git directory that `directory` is in, of the repository at `top`. To be asked only if git lists
   * no file in `directory`. Rejects as tracked() does.
   */
  async submoduleAround(directory: Buffer, top: Buffer): Promise<Buffer | undefined> {
    // Git refuses all paths in such a submodule.
    const refused = await this.#run(directory, ['check-ignore', '-q', 'any name']).then(
      () => false,
      ({ code }) => code === fatal,
    );
    if (!refused) return undefined;
    for (let at = directory; !at.equals(top); at = directoryOf(at)) {
      const { paths, submodules } = await this.tracked(at);
      if (submodules.includes(itself)) return at;
      if (paths.length > 0) return undefined;
    }
    return undefined;
  }

  /**
   * Runs git without others' variables, which would select another repository. Also without what may run any program: a file
   * system monitor, and a connection to fetch objects that a partial clone lacks. Node passes only UTF-8.
   */
  async #run(directory: Buffer, args: string[]): Promise<string> {
    const { execFile, spawnSync } = getBuiltinModule('node:child_process'); // loaded late: it takes 5 ms
    this.#signal?.throwIfAborted();
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !othersVariables.has(name)),
    );
    if (!isUtf8(directory)) throw new Error('git cannot be asked about a path that is not UTF-8');
    const words = ['-C', directory.toString(), '-c', 'core.fsmonitor=false', ...args];
    const options = {
      env: { ...env, ...gitEnvironment },
      encoding: 'latin1',
      maxBuffer: mostOutput,
      signal: this.#signal,
    } as const;
    if (isNextTickFake()) {
      const { error, status, stderr, stdout } = spawnSync('git', words, options);
      if (error || status !== 0) throw error ?? Object.assign(new Error(stderr), { code: status });
      return stdout;
    }
    return new Promise((resolve, reject) => {
      execFile('git', words, options, (error, stdout) => {
        if (error) reject(error);
        else resolve(stdout);
      });
    });
  }
}

export function lacksGit(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOENT';
}

/** Returns the reason why git did not answer. */
export function saidBy(error: unknown): string {
  const { message, signal } = error as Error & { signal?: string };
  if (lacksGit(error as Error)) return 'git is not installed';
  if (signal) return `${signal} ended git`;
  const [, fatal] = /^fatal: (.+)$/m.exec(message) ?? [];
  return fatal ?? message.trim().split('\n').at(-1) ?? '';
}

/** Returns whether the user or the system may have settings of git, which also apply outside of repositories. */
export async function mayHaveSettings(): Promise<boolean> {
  const { GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM, GIT_CONFIG_COUNT, GIT_CONFIG_NOSYSTEM } =
    process.env;
  if (GIT_CONFIG_GLOBAL || GIT_CONFIG_SYSTEM || GIT_CONFIG_COUNT) return true;
  const { home, config } = userDirectories();
  const files = [`${home}/.gitconfig`, `${config}/git/config`];
  if (!GIT_CONFIG_NOSYSTEM) files.push('/etc/gitconfig');
  const looks = await Promise.allSettled(files.map((path) => access(path, constants.R_OK)));
  return looks.some(({ status }) => status === 'fulfilled');
}

function userDirectories(): { home: string; config: string } {
  const home = process.env.HOME ?? homeDirectory() ?? '';
  return { home, config: process.env.XDG_CONFIG_HOME || (home && `${home}/.config`) };
}

/** Returns undefined if there is none. It may be unreadable if HOME belongs to another user, as in many containers. */
async function defaultExcludesFile(
  top: Buffer,
): Promise<{ path: Buffer; isReadable: boolean } | undefined> {
  const { config } = userDirectories();
  if (!config) return undefined;
  const path = resolve(top, Buffer.from(`${config}/git/ignore`));
  return access(path, constants.R_OK).then(
    () => ({ path, isReadable: true }),
    ({ code }) => (['ENOENT', 'ENOTDIR'].includes(code) ? undefined : { path, isReadable: false }),
  );
}
