/**
 * Decides what git ignores: rule files on the way down, those above SRC, info/exclude, core.excludesFile, and
 * tracked files, which are never ignored. Other files with the same syntax (`ignoreFileNames`) rank above
 * .gitignore in their directory. They are the user's own rules: they exclude even tracked files, and apply in
 * nested repositories.
 */
import { isNativeError } from 'node:util/types';
import { CopyError } from '../errors/copy-error.js';
import { realpath, run } from '../io/steps.js';
import { baseName, directoryOf, join, namesFrom } from '../paths.js';
import { canOpen, readWhole } from './files.js';
import { Git, isMissing, mayHaveSettings, saidBy } from './git.js';
import { type Repository, repositoryAround, repositoryAt, saysGit } from './repository.js';
import { lastMatch, parseRules, type Rule, type RulesHere, rulesBelow, rulesIn } from './rules.js';
import { Tracked, type TrackedPaths } from './tracked.js';
import {
  bytesOf,
  type Listed,
  type SelectionWarning,
  textOf,
  type Verdict,
  verdicts,
} from './verdict.js';
import { foldCase } from './wildmatch.js';
import { WorktreeInclude } from './worktree-include.js';

export interface GitignoreOptions {
  gitignore: boolean;
  onlyIgnored: boolean;
  /** With `onlyIgnored`: .worktreeinclude limits it, and no `.git` and no other repository is copied. */
  worktree?: boolean;
  ignoreFileNames: readonly string[];
  /** Symlinks to directories are listed as directories. */
  dereference: boolean;
  /** If git cannot tell what is tracked, that is an error instead of a warning. */
  needsTracked?: boolean;
  /** Ends git if that has not answered. */
  signal?: AbortSignal | undefined;
}

/** The rules of one directory. */
export interface GitignoreScope {
  /** From the weakest to the strongest. */
  rules: RulesHere[];
  /** The rule that excludes this directory, except its tracked files. */
  ignoredBy?: Match;
  /** The directory below SRC that this rule excludes. */
  ignored?: string;
  /** The rules of .worktreeinclude. Absent if everything here is wanted. */
  wanted?: RulesHere;
  /** With `worktree`: this is another repository. */
  isOther?: true;
  repository?: RepositoryHere;
}

interface RepositoryHere {
  ignoreCase: boolean;
  /** Git has told what is tracked. */
  isKnown: boolean;
  tracked: Tracked;
  /** This directory, relative to the beginning of the tracked paths: empty or with a slash at its end. */
  path: string;
}

interface Match {
  rule: Rule;
  from: RulesHere;
}

interface Answer {
  verdict: Verdict;
  /** The rule that excludes an entry, or a directory except a part of it. */
  match?: Match;
  /** The reason for an exclusion without a rule. */
  reason?: string;
  /** The rules of .worktreeinclude in a directory that they do not match. */
  wanted?: RulesHere;
}

const noGitDirectory = new Error('this submodule has no git directory');

/** Bytes. Since 2.46 git ignores rule files of more than 100 MB. */
const mostRules = 100 << 20;

const nothingTracked: TrackedPaths = {
  paths: [],
  symlinks: [],
  submodules: [],
  leftOut: new Map(),
};

const taken: Answer = { verdict: verdicts.take };
const searched: Answer = { verdict: verdicts.look };
const notIgnored: Answer = { verdict: verdicts.leave, reason: 'not ignored' };
const dotGit: Answer = { verdict: verdicts.leave, reason: '.git stays behind' };
const worktree: Answer = { verdict: verdicts.leave, reason: 'another worktree' };
const otherRepository: Answer = { verdict: verdicts.leave, reason: 'another repository' };
const unsearched: Answer = {
  verdict: verdicts.leave,
  reason: 'no pattern of .worktreeinclude can match in it',
};
const unwanted: Answer = { verdict: verdicts.leave, reason: 'not in .worktreeinclude' };

export class Gitignore {
  readonly warnings: SelectionWarning[] = [];
  /** Undefined without `worktree` or without that file. */
  include: WorktreeInclude | undefined;
  /** Worktrees that were left out: paths below SRC. */
  readonly leftWorktrees = new Set<string>();
  #worktrees: string[] = [];
  /** With `worktree`: those whose `.git` stays behind, with a slash at their ends. */
  #repositories: string[] = [];
  /** Directories with ignored files, with a slash at their ends. */
  #withIgnored: ReadonlySet<string> = new Set();
  #worktree: boolean;
  #src: Buffer;
  #shown: string;
  #onlyIgnored: boolean;
  #dereference: boolean;
  #needsTracked: boolean;
  #git: Git;
  /** Whether git's own rules apply. */
  #followsGit: boolean;
  #hasToldUnreadable = false;
  /** Names of rule files in the order of their rank, and whether they are the user's own. */
  #names: Map<string, { own: boolean; met: boolean }>;

  constructor(src: Buffer, shown: string, options: GitignoreOptions) {
    this.#src = src;
    this.#shown = shown;
    this.#onlyIgnored = options.onlyIgnored;
    this.#worktree = options.worktree ?? false;
    this.#dereference = options.dereference;
    this.#needsTracked = options.needsTracked ?? false;
    this.#git = new Git(options.signal);
    this.#followsGit = options.gitignore || options.onlyIgnored;
    this.#names = new Map(this.#followsGit ? [['.gitignore', { own: false, met: true }]] : []);
    for (const name of options.ignoreFileNames) {
      this.#names.set(bytesOf(name), { own: true, met: false });
    }
  }

  /** Returns whether a rule file of this name was found, in SRC or above it. */
  hasMet(name: string): boolean {
    return this.#names.get(bytesOf(name))?.met === true;
  }

  /** Returns why an entry is excluded. */
  reasonOf({ match, reason }: Answer): string | undefined {
    return match ? shownRule(match) : reason;
  }

  /** Returns the scope of SRC, with its own rule files. */
  async start(): Promise<GitignoreScope> {
    const scope = this.#followsGit ? await this.#startInRepository() : { rules: [] };
    if (scope.ignoredBy) return scope;
    const leftOut = await this.#readLeftOut(scope, this.#src);
    this.#addDirectory(scope, this.#src, this.#shownPath(''), { leftOut });
    return scope;
  }

  async #startInRepository(): Promise<GitignoreScope> {
    const src = await run(realpath(this.#src));
    const repository = await repositoryAround(src);
    const top = repository?.top ?? src;
    if (this.#onlyIgnored && repository) await this.#findOthers(src);
    const scope = await this.#startBelow(top, src, repository);
    const wanted = this.#worktree && this.#startInclude(top, src, scope);
    return wanted ? { ...scope, wanted } : scope;
  }

  async #findOthers(src: Buffer): Promise<void> {
    const none = (error: Error): void => void this.#nothingKnown(src, error);
    const [worktrees, withIgnored] = await Promise.all([
      this.#git.worktrees(src).catch(none),
      // Without a work tree git does not list them.
      this.#git.ignoredDirectories(src).catch(this.#worktree ? none : () => undefined),
    ]);
    this.#worktrees = worktrees ?? [];
    this.#withIgnored = withIgnored ?? this.#withIgnored;
    const paths = [...this.#withIgnored];
    for (let from = 0; from < paths.length; from += 256) {
      const some = paths.slice(from, from + 256);
      const answers = await Promise.all(
        some.map((path) => saysGit(join(src, Buffer.from(path.slice(0, -1), 'latin1')))),
      );
      for (const [index, path] of some.entries()) {
        if (answers[index] === 'worktree') this.#worktrees.push(path.slice(0, -1));
        else if (answers[index] && this.#worktree) this.#repositories.push(path);
      }
    }
  }

  /** Returns the rules of .worktreeinclude in SRC, unless there are none or they match SRC as a whole. */
  #startInclude(top: Buffer, src: Buffer, { repository }: GitignoreScope): RulesHere | undefined {
    const name = '.worktreeinclude';
    const content = readRuleFile(join(top, Buffer.from(name)), name, true);
    if (!content) return undefined;
    this.include = new WorktreeInclude(content, repository?.ignoreCase ?? false);
    this.include.isAtTop = top.equals(src);
    let wanted = this.include.root;
    for (const way of namesFrom(top, src).map((bytes) => bytes.toString('latin1'))) {
      const rule = this.include.match(wanted, way, true);
      if (rule && !rule.negative) return undefined;
      wanted = rulesBelow(wanted, way);
    }
    return wanted;
  }

  /** Returns the scope of SRC, with the rule files of the directories above it, from `top` on. */
  async #startBelow(top: Buffer, src: Buffer, repository?: Repository): Promise<GitignoreScope> {
    const way: Buffer[] = [];
    for (let at: Buffer = src; !at.equals(top); at = directoryOf(at)) way.unshift(baseName(at));
    const names = way.map((name) => name.toString('latin1'));
    // SRC is a part of the repository itself, whose files nobody tracks or ignores.
    if (names.includes('.git')) return { rules: [] };

    let scope = await this.#begin(src, top, repository);
    if (repository && scope.repository?.isKnown && scope.repository.tracked.isEmpty) {
      // Git has just listed what is tracked. So if it refuses a path now, the reason is a submodule.
      const submodule = await this.#git.submoduleAround(src, top).catch(() => undefined);
      if (submodule) {
        this.#nothingKnown(submodule, noGitDirectory);
        return this.#startBelow(submodule, src);
      }
    }
    const above = names.map((_, depth) =>
      way.slice(0, depth).reduce<Buffer>((at, name) => join(at, name), top),
    );
    const mayAsk = scope.repository?.isKnown === true;
    const hashes = mayAsk ? await this.#findLeftOutAbove(src, above) : [];
    for (const [depth, directory] of above.entries()) {
      const name = names[depth] as string;
      const leftOut = await this.#readFromIndex(directory, hashes[depth]);
      this.#addDirectory(scope, directory, directory.toString(), { leftOut });
      const match = this.#matchOf(scope, name, true);
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
    if (this.#onlyIgnored) return;
    const message = `'${this.#shown}' is ignored itself, by ${shownRule(match)}: only tracked files are taken`;
    this.warnings.push({ code: 'SOURCE_IGNORED', message, path: this.#shown });
  }

  /** Reads the rules of a repository besides its .gitignore files, and the files tracked below `directory`. */
  async #begin(directory: Buffer, top: Buffer, repository?: Repository): Promise<GitignoreScope> {
    const [{ ignoreCase, excludesFile, failure, unreadable }, answer] = await Promise.all([
      this.#git.settings(directory, top),
      repository ? this.#git.tracked(directory).catch((error: Error) => error) : nothingTracked,
    ]);
    const isRefused = isNativeError(answer);
    const tracked = isRefused ? this.#nothingKnown(directory, answer, failure) : answer;
    if (failure && !isRefused && (repository || (await mayHaveSettings()))) {
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
        isKnown: tracked !== nothingTracked,
        tracked: new Tracked(tracked, ignoreCase, this.#dereference),
        path: '',
      },
    };
    // The symlinks of a repository that git does not trust could lead anywhere.
    const isTrusted = repository && !(isRefused && !isMissing(answer));
    const exclude = isTrusted ? join(repository.commonDir, Buffer.from('info/exclude')) : undefined;
    for (const path of [excludesFile, exclude]) {
      const content = path && readRuleFile(path, textOf(path.toString('latin1')), true);
      if (!content) continue;
      const shown = path.toString();
      scope.rules.push(rulesIn(parseRules(content, { shown, own: false, fold: ignoreCase })));
    }
    return scope;
  }

  /** Reads the .gitignore that a sparse checkout has left out of a directory, as git does. */
  async #readLeftOut(
    { repository }: GitignoreScope,
    directory: Buffer,
  ): Promise<Buffer | undefined> {
    const { path, tracked } = repository ?? {};
    const hash = tracked?.leftOut.get(`${path}.gitignore`);
    return hash && !hasRuleFile(directory) ? this.#readFromIndex(directory, hash) : undefined;
  }

  /** Returns their hashes for the directories above SRC, whose tracked files are not known. `above`: from the top on. */
  async #findLeftOutAbove(src: Buffer, above: Buffer[]): Promise<(string | undefined)[]> {
    const paths = above.map((directory, depth) =>
      hasRuleFile(directory) ? [] : [`${'../'.repeat(above.length - depth)}.gitignore`],
    );
    if (paths.flat().length === 0) return [];
    const found = await this.#git
      .tracked(src, ...paths.flat())
      .catch((error: unknown) => this.#notRead(src, error));
    return paths.map(([path]) => path && found?.leftOut.get(path));
  }

  async #readFromIndex(directory: Buffer, hash: string | undefined): Promise<Buffer | undefined> {
    if (hash === undefined) return undefined;
    return this.#git
      .blob(directory, hash)
      .catch((error: unknown) => this.#notRead(directory, error));
  }

  #notRead(directory: Buffer, error: unknown): undefined {
    const path = directory.toString();
    const unknown = `cannot read the .gitignore of '${path}' from the index`;
    this.#warnOrThrow(path, unknown, 'its rules do not apply', saidBy(error));
  }

  #nothingKnown(directory: Buffer, error: Error, settings?: Error): TrackedPaths {
    const path = directory.toString();
    const lost = [
      ...(settings ? ["git's settings"] : []),
      ...(isMissing(error) ? [] : ['.git/info/exclude']),
    ];
    const also = lost.length > 0 ? ` (not read: ${lost.join(', ')})` : '';
    const assumed = `all that matches a rule counts as ignored${also}`;
    this.#warnOrThrow(path, `cannot tell what is tracked in '${path}'`, assumed, saidBy(error));
    return nothingTracked;
  }

  /** Warns, or throws if tracked files must be known. */
  #warnOrThrow(path: string, unknown: string, assumed: string, why: string): void {
    if (this.#needsTracked)
      throw new CopyError('ERR_FASTCP_GIT_UNAVAILABLE', `${unknown}: ${why}`, { path });
    this.#warn(path, `${unknown}, so ${assumed}: ${why}`);
  }

  #warn(path: string, message: string): void {
    this.warnings.push({ code: 'GIT_UNAVAILABLE', message, path });
  }

  /**
   * Reads the rule files that the listing has. Returns a promise only at the root of a nested repository or submodule, or if
   * the .gitignore is in the index alone.
   */
  enter(
    scope: GitignoreScope,
    entries: readonly Listed[],
    path: string,
  ): GitignoreScope | Promise<GitignoreScope> {
    // A repository in an ignored directory is copied with it, if that is wanted as a whole.
    if (path === '' || (scope.ignoredBy && !scope.wanted)) return scope;
    const present = new Set<string>();
    let nested = false;
    for (const { name, kind } of entries) {
      if (kind === 'file' && this.#names.has(name)) present.add(name);
      else if (this.#followsGit && name === '.git') nested = true;
    }
    const { path: below = '', tracked } = scope.repository ?? {};
    // Its git directory may be missing. For git the rules around it do not apply, either.
    const isSubmodule = entries.length > 0 && tracked?.isSubmodule(below.slice(0, -1)) === true;
    const isLeftOut = tracked?.leftOut.has(`${below}.gitignore`) === true;
    if (!nested && !isSubmodule && !isLeftOut && present.size === 0) return scope;
    const directory = this.#pathOf(path);
    if (scope.ignoredBy) return nested ? this.#nest(scope, directory, false) : scope;
    const readHere = (above: GitignoreScope, leftOut?: Buffer): GitignoreScope => {
      const here = { ...above, rules: [...above.rules] };
      this.#addDirectory(here, directory, this.#shownPath(path), { present, leftOut });
      return here;
    };
    if (!nested && !isSubmodule && !isLeftOut) return readHere(scope);
    const readAll = async (above: GitignoreScope) =>
      readHere(above, await this.#readLeftOut(above, directory));
    return nested || isSubmodule
      ? this.#nest(scope, directory, isSubmodule).then(readAll)
      : readAll(scope);
  }

  /** Within a nested repository or submodule only its own rules apply. */
  async #nest(
    scope: GitignoreScope,
    directory: Buffer,
    isSubmodule: boolean,
  ): Promise<GitignoreScope> {
    const repository = await repositoryAt(directory, isSubmodule);
    if (!repository && !isSubmodule) return scope;
    const { path = '', tracked } = scope.repository ?? {};
    // For git it is an ordinary directory if it tracks files there, from before.
    if (this.#worktree)
      return tracked?.hasBelow(path.slice(0, -1)) ? scope : { rules: [], isOther: true };
    if (!repository) this.#nothingKnown(directory, noGitDirectory);
    const inner = await this.#begin(directory, directory, repository);
    return { ...inner, rules: [...inner.rules, ...scope.rules.filter(({ file }) => file.own)] };
  }

  #addDirectory(
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
      if (isListed) this.#names.set(name, met); // also if it cannot be read
      const path = join(directory, Buffer.from(name, 'latin1'));
      const found = isListed === false ? undefined : readRuleFile(path, shown, false);
      const content = name === '.gitignore' ? (found ?? leftOut) : found;
      if (!content) continue;
      this.#names.set(name, met);
      scope.rules.push(rulesIn(parseRules(content, { shown, own, fold })));
    }
  }

  /** `path` is that of the directory, below SRC: empty or with a slash at its end. */
  judge(scope: GitignoreScope, entry: Listed, path: string): Answer {
    const at = path + entry.name;
    if (this.#worktrees.includes(at)) {
      this.leftWorktrees.add(at);
      return worktree;
    }
    if (scope.isOther) return otherRepository;
    const answer = this.#judgeByGit(scope, entry, at);
    const { wanted } = scope;
    if (!wanted || !this.include || answer.verdict === verdicts.leave) return answer;
    const isDirectory = entry.kind === 'directory';
    // A directory that git does not ignore gets only what is ignored in it.
    const isOfUse = !isDirectory || answer.match || this.#withIgnored.has(`${at}/`);
    const rule = this.include.match(wanted, entry.name, isDirectory, Boolean(isOfUse));
    if (rule && !rule.negative) return answer;
    const below = isDirectory ? this.include.below(wanted, entry.name) : undefined;
    if (below) return { ...answer, verdict: verdicts.look, wanted: below };
    if (!isDirectory || answer.match) this.include.leftOut.add(scope.ignored ?? at);
    return rule
      ? { verdict: verdicts.leave, match: { rule, from: wanted } }
      : isDirectory && !answer.match
        ? unsearched
        : unwanted;
  }

  #judgeByGit(scope: GitignoreScope, { name, kind }: Listed, at: string): Answer {
    const isDirectory = kind === 'directory';
    if (this.#followsGit && isDotGit(scope, name)) return dotGit;
    const match = scope.ignoredBy ?? this.#matchOf(scope, name, isDirectory);
    if (match && !match.rule.negative && !isTracked(scope, match, name, isDirectory)) {
      if (isDirectory && holdsTracked(scope, match, name)) return { verdict: verdicts.look, match };
      if (!this.#onlyIgnored) return { verdict: verdicts.leave, match };
      if (!isDirectory) return taken;
      // Only created if something else is in it.
      if (this.#worktrees.some((one) => one.startsWith(`${at}/`)))
        return { verdict: verdicts.look, match };
      const holds = (one: string) => one.startsWith(`${at}/`) || `${at}/`.startsWith(one);
      const { take, takeAll } = verdicts;
      return { verdict: this.#repositories.some(holds) ? take : takeAll, match };
    }
    if (!this.#onlyIgnored) return taken;
    return isDirectory ? searched : notIgnored;
  }

  /** Returns the scope of a directory whose verdict is take or look. */
  below(
    scope: GitignoreScope,
    name: string,
    { match, wanted }: Answer,
    path: string,
  ): GitignoreScope {
    const { repository } = scope;
    return {
      rules: scope.rules.map((rules) => rulesBelow(rules, name)),
      ...(match && { ignoredBy: match, ignored: scope.ignored ?? path + name }),
      ...(wanted && { wanted }),
      ...(repository && { repository: { ...repository, path: `${repository.path}${name}/` } }),
    };
  }

  #matchOf({ rules, repository }: GitignoreScope, name: string, isDirectory: boolean) {
    const folded = repository?.ignoreCase ? foldCase(name) : name;
    for (let i = rules.length - 1; i >= 0; i--) {
      const from = rules[i] as RulesHere;
      const rule = lastMatch(from, from.file.fold ? folded : name, isDirectory);
      if (rule) return { rule, from };
    }
    return undefined;
  }

  /** `path` is below SRC: empty or with a slash at its end. */
  #pathOf(path: string): Buffer {
    return path === '' ? this.#src : join(this.#src, Buffer.from(path.slice(0, -1), 'latin1'));
  }

  #shownPath(path: string): string {
    return joinShown(this.#shown, path.split('/').slice(0, -1).map(textOf).join('/'));
  }
}

function joinShown(directory: string, name: string): string {
  if (directory === '' || name === '') return directory + name;
  return directory.endsWith('/') ? directory + name : `${directory}/${name}`;
}

/** Git's rules do not affect tracked files. The user's own rules do. */
function isTracked(
  { repository }: GitignoreScope,
  { from }: Match,
  name: string,
  isDirectory: boolean,
): boolean {
  return !from.file.own && repository?.tracked.has(repository.path + name, isDirectory) === true;
}

function holdsTracked({ repository }: GitignoreScope, { from }: Match, name: string): boolean {
  return !from.file.own && repository?.tracked.hasBelow(repository.path + name) === true;
}

function isDotGit({ repository }: GitignoreScope, name: string): boolean {
  return name === '.git' || (repository?.ignoreCase === true && foldCase(name) === '.git');
}

/** Names a rule as `git check-ignore -v` does: file, line and pattern. */
function shownRule({ rule, from }: Match): string {
  return `${from.file.shown}:${rule.line}:${textOf(rule.text)}`;
}

/** Returns whether git reads the .gitignore of the work tree, instead of the one in the index. */
function hasRuleFile(directory: Buffer): boolean {
  return canOpen(join(directory, Buffer.from('.gitignore')));
}

/** Returns the content of a rule file. Anything but a file has no rules, nor has a symlink in the tree, as in git. */
function readRuleFile(path: Buffer, shown: string, follow: boolean): Buffer | undefined {
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
