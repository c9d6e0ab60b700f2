/** Reads the rules of git's repositories and of other rule files, which git and the file system may refuse. */
import { named } from '../errors/arguments.js';
import { CopyError } from '../errors/copy-error.js';
import { baseName, directoryOf, join } from '../paths.js';
import { canOpen, readWhole } from './files.js';
import { type Git, mayHaveSettings, saidBy } from './git.js';
import {
  type GitignoreOptions,
  type GitignoreScope,
  type Match,
  matchOf,
  shownRule,
} from './gitignore-scope.js';
import type { Repository } from './repository.js';
import { parseRules, rulesBelow, rulesIn } from './rules.js';
import { Tracked, type TrackedPaths } from './tracked.js';
import { bytesOf, type SelectionWarning, textOf } from './verdict.js';

export const noGitDirectory = new Error('this submodule has no git directory');

/** Bytes. Since 2.46 git ignores rule files of more than 100 MB. */
const mostRules = 100 << 20;

const nothingTracked: TrackedPaths = {
  paths: [],
  symlinks: [],
  submodules: [],
  leftOut: new Map(),
};

export class RuleReader {
  readonly warnings: SelectionWarning[] = [];
  #shown: string;
  #git: Git;
  #options: GitignoreOptions;
  #hasToldUnreadable = false;
  /** Names of rule files in the order of their rank, and whether they are the user's own. */
  #names: Map<string, { own: boolean; met: boolean }>;

  constructor(shown: string, git: Git, options: GitignoreOptions) {
    this.#shown = shown;
    this.#git = git;
    this.#options = options;
    const followsGit = options.gitignore || options.onlyIgnored;
    this.#names = new Map(followsGit ? [['.gitignore', { own: false, met: true }]] : []);
    for (const name of options.ignoreFileNames) {
      this.#names.set(bytesOf(name), { own: true, met: false });
    }
  }

  isRuleFile(name: string): boolean {
    return this.#names.has(name);
  }

  /** Returns whether a rule file of this name was found, in SRC or above it. */
  hasMet(name: string): boolean {
    return this.#names.get(bytesOf(name))?.met === true;
  }

  /** Returns the scope of SRC, with the rule files of the directories above it, from `top` on. */
  async startBelow(top: Buffer, src: Buffer, repository?: Repository): Promise<GitignoreScope> {
    const way: Buffer[] = [];
    for (let at: Buffer = src; !at.equals(top); at = directoryOf(at)) way.unshift(baseName(at));
    const names = way.map((name) => name.toString('latin1'));
    // SRC is a part of the repository itself, whose files nobody tracks or ignores.
    if (names.includes('.git')) return { rules: [] };

    let scope = await this.begin(src, top, repository);
    if (repository && scope.repository?.tracked.isEmpty) {
      // Git has just listed what is tracked. So if it refuses a path now, the reason is a submodule.
      const submodule = await this.#git.submoduleAround(src, top).catch(() => undefined);
      if (submodule) this.refuse(submodule, noGitDirectory);
    }
    const above = names.map((_, depth) =>
      way.slice(0, depth).reduce<Buffer>((at, name) => join(at, name), top),
    );
    const hashes = repository ? await this.#findLeftOutAbove(top, names, above) : [];
    for (const [depth, directory] of above.entries()) {
      const name = names[depth] as string;
      const leftOut = await this.#readFromIndex(directory, hashes[depth]);
      this.addDirectory(scope, directory, directory.toString(), { leftOut });
      const match = matchOf(scope, name, true);
      scope = { ...scope, rules: scope.rules.map((rules) => rulesBelow(rules, name)) };
      // An entry in an excluded directory cannot be included again, so nothing below needs to be read.
      if (match && !match.rule.negative) {
        this.#warnIgnored(match);
        return { ...scope, ignoredBy: match };
      }
    }
    return scope;
  }

  #warnIgnored(match: Match): void {
    if (this.#options.onlyIgnored) return;
    const message = `'${this.#shown}' is ignored itself, by ${shownRule(match)}: only tracked files are taken`;
    this.warnings.push({ code: 'SOURCE_IGNORED', message, path: this.#shown });
  }

  /** Reads the rules of a repository besides its .gitignore files, and the files tracked below `directory`. */
  async begin(directory: Buffer, top: Buffer, repository?: Repository): Promise<GitignoreScope> {
    const [{ ignoreCase, excludesFile, failure, unreadable }, tracked] = await Promise.all([
      this.#git.settings(directory, top),
      repository
        ? this.#git.tracked(directory).catch((error: Error) => this.refuse(directory, error))
        : nothingTracked,
    ]);
    if (failure && repository) this.refuse(directory, failure);
    if (failure && (await mayHaveSettings())) {
      const path = directory.toString();
      const message = `cannot read git's settings for '${path}', so they do not apply: ${saidBy(failure)}`;
      this.#warn(path, message);
    }
    if (unreadable && !this.#hasToldUnreadable) {
      this.#hasToldUnreadable = true;
      const path = unreadable.toString();
      const message = `cannot read '${path}', git's default for core.excludesFile, so its rules do not apply`;
      this.#warn(path, message);
    }
    const scope: GitignoreScope = {
      rules: [],
      repository: {
        ignoreCase,
        tracked: new Tracked(tracked, ignoreCase, this.#options.dereference),
        path: '',
      },
    };
    const exclude = repository && join(repository.commonDir, Buffer.from('info/exclude'));
    for (const path of [excludesFile, exclude]) {
      const content = path && readRuleFile(path, textOf(path.toString('latin1')), true);
      if (!content) continue;
      const shown = path.toString();
      scope.rules.push(rulesIn(parseRules(content, { shown, own: false, fold: ignoreCase })));
    }
    return scope;
  }

  /** Reads the .gitignore that a sparse checkout has left out of a directory, as git does. */
  async readLeftOut(
    { repository }: GitignoreScope,
    directory: Buffer,
  ): Promise<Buffer | undefined> {
    const { path, tracked } = repository ?? {};
    const hash = tracked?.leftOut.get(`${path}.gitignore`);
    return hash && !hasRuleFile(directory) ? this.#readFromIndex(directory, hash) : undefined;
  }

  /** Returns their hashes for the directories above SRC, whose tracked files are not known. `above`: from the top on. */
  async #findLeftOutAbove(
    top: Buffer,
    names: string[],
    above: Buffer[],
  ): Promise<(string | undefined)[]> {
    const paths = above.map((directory, depth) =>
      hasRuleFile(directory) ? [] : [[...names.slice(0, depth), '.gitignore'].join('/')],
    );
    if (paths.flat().length === 0) return [];
    const found = await this.#git
      .tracked(top, ...paths.flat())
      .catch((error: unknown) => this.refuse(top, error));
    return paths.map(([path]) => path && found.leftOut.get(path));
  }

  async #readFromIndex(directory: Buffer, hash: string | undefined): Promise<Buffer | undefined> {
    if (hash === undefined) return undefined;
    return this.#git.blob(directory, hash).catch((error: unknown) => this.refuse(directory, error));
  }

  /** Without git's answer tracked files would be left out, or deleted in DEST, and what git ignores by itself would be taken. */
  refuse(directory: Buffer, error: unknown): never {
    this.#options.signal?.throwIfAborted();
    const path = directory.toString();
    const instead = this.#options.onlyIgnored
      ? ''
      : `; ${named('ignoreFileNames')} '.gitignore' and ${named('exclude')} '.git' instead go by rules alone`;
    const message = `cannot apply git's rules in '${path}': ${saidBy(error)}${instead}`;
    throw new CopyError('ERR_FASTCP_GIT_UNAVAILABLE', message, { path });
  }

  #warn(path: string, message: string): void {
    this.warnings.push({ code: 'GIT_UNAVAILABLE', message, path });
  }

  addDirectory(
    scope: GitignoreScope,
    directory: Buffer,
    shownDirectory: string,
    { present, leftOut }: { present?: ReadonlySet<string>; leftOut: Buffer | undefined },
  ): void {
    const fold = scope.repository?.ignoreCase ?? false;
    for (const [name, { own }] of this.#names) {
      const shown = joinShown(shownDirectory, textOf(name));
      const met = { own, met: true };
      const isListed = present?.has(name);
      if (isListed) this.#names.set(name, met); // even if it cannot be read
      const path = join(directory, Buffer.from(name, 'latin1'));
      const found = isListed === false ? undefined : readRuleFile(path, shown, false);
      const content = name === '.gitignore' ? (found ?? leftOut) : found;
      if (!content) continue;
      this.#names.set(name, met);
      scope.rules.push(rulesIn(parseRules(content, { shown, own, fold })));
    }
  }
}

export function joinShown(directory: string, name: string): string {
  if (directory === '' || name === '') return directory + name;
  return directory.endsWith('/') ? directory + name : `${directory}/${name}`;
}

/** Returns whether git reads the .gitignore of the work tree, instead of the one in the index. */
function hasRuleFile(directory: Buffer): boolean {
  return canOpen(join(directory, Buffer.from('.gitignore')));
}

/** Returns the content of a rule file. Anything but a file has no rules, nor has a symlink in the tree, as in git. */
export function readRuleFile(path: Buffer, shown: string, follow: boolean): Buffer | undefined {
  try {
    return readWhole(path, follow, mostRules);
  } catch (error) {
    const { code = 'EIO', errno = 0, syscall = 'read' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return undefined;
    const why = code === 'EFBIG' ? ': it has more than 100 MiB' : '';
    const message = `${code}: cannot read the rules in '${shown}'${why}`;
    throw new CopyError(code, message, { errno, syscall, path: shown });
  }
}
