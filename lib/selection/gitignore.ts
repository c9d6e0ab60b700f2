/**
 * Decides what git ignores: rule files on the way down, those above SRC, info/exclude, core.excludesFile, and
 * tracked files, which are never ignored. Other files with the same syntax (`ignoreFileNames`) rank above
 * .gitignore in their directory. They are the user's own rules: they exclude even tracked files, and apply in
 * nested repositories.
 */
import { realpath } from '../io/looks.js';
import { join, namesFrom } from '../paths.js';
import { Git } from './git.js';
import {
  type Answer,
  type GitignoreOptions,
  type GitignoreScope,
  holdsTracked,
  isDotGit,
  isTracked,
  matchOf,
  shownRule,
} from './gitignore-scope.js';
import { repositoryAround, repositoryAt, saysGit } from './repository.js';
import { joinShown, noGitDirectory, RuleReader, readRuleFile } from './rule-reader.js';
import { type RulesHere, rulesBelow } from './rules.js';
import { type Listed, type SelectionWarning, textOf, verdicts } from './verdict.js';
import { WorktreeInclude } from './worktree-include.js';

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
  readonly warnings: SelectionWarning[];
  /** Undefined without `worktree` or without that file. */
  include: WorktreeInclude | undefined;
  /** Worktrees that were left out: paths below SRC. */
  readonly leftWorktrees = new Set<string>();
  #worktrees: string[] = [];
  /** With `worktree`: those whose `.git` stays behind, with a slash at their ends. */
  #repositories: string[] = [];
  /** Directories with ignored files, with a slash at their ends. */
  #withIgnored: ReadonlySet<string> = new Set();
  #src: Buffer;
  #shown: string;
  #options: GitignoreOptions;
  #git: Git;
  /** Whether git's own rules apply. */
  #followsGit: boolean;
  #reader: RuleReader;

  constructor(src: Buffer, shown: string, options: GitignoreOptions) {
    this.#src = src;
    this.#shown = shown;
    this.#options = options;
    this.#git = new Git(options.signal);
    this.#followsGit = options.gitignore || options.onlyIgnored;
    this.#reader = new RuleReader(shown, this.#git, options);
    this.warnings = this.#reader.warnings;
  }

  /** Returns whether a rule file of this name was found, in SRC or above it. */
  hasMet(name: string): boolean {
    return this.#reader.hasMet(name);
  }

  /** Returns why an entry is excluded. */
  reasonOf({ match, reason }: Answer): string | undefined {
    return match ? shownRule(match) : reason;
  }

  /** Returns the scope of SRC, with its own rule files. */
  async start(): Promise<GitignoreScope> {
    const scope = this.#followsGit ? await this.#startInRepository() : { rules: [] };
    if (scope.ignoredBy) return scope;
    const leftOut = await this.#reader.readLeftOut(scope, this.#src);
    this.#reader.addDirectory(scope, this.#src, this.#shownPath(''), { leftOut });
    return scope;
  }

  async #startInRepository(): Promise<GitignoreScope> {
    const src = await realpath(this.#src);
    const repository = await repositoryAround(src);
    const top = repository?.top ?? src;
    if (this.#options.onlyIgnored && repository) await this.#findOthers(src);
    const scope = await this.#reader.startBelow(top, src, repository);
    const wanted = this.#options.worktree && this.#startInclude(top, src, scope);
    return wanted ? { ...scope, wanted } : scope;
  }

  async #findOthers(src: Buffer): Promise<void> {
    const none = (error: Error) => this.#reader.refuse(src, error);
    const [worktrees, withIgnored] = await Promise.all([
      this.#git.worktrees(src).catch(none),
      // Without a work tree git does not list them.
      this.#git.ignoredDirectories(src).catch(this.#options.worktree ? none : () => undefined),
    ]);
    this.#worktrees = worktrees;
    this.#withIgnored = withIgnored ?? this.#withIgnored;
    const paths = [...this.#withIgnored];
    for (let from = 0; from < paths.length; from += 256) {
      const some = paths.slice(from, from + 256);
      const answers = await Promise.all(
        some.map((path) => saysGit(join(src, Buffer.from(path.slice(0, -1), 'latin1')))),
      );
      for (const [index, path] of some.entries()) {
        if (answers[index] === 'worktree') this.#worktrees.push(path.slice(0, -1));
        else if (answers[index] && this.#options.worktree) this.#repositories.push(path);
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
      if (kind === 'file' && this.#reader.isRuleFile(name)) present.add(name);
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
      this.#reader.addDirectory(here, directory, this.#shownPath(path), { present, leftOut });
      return here;
    };
    if (!nested && !isSubmodule && !isLeftOut) return readHere(scope);
    const readAll = async (above: GitignoreScope) =>
      readHere(above, await this.#reader.readLeftOut(above, directory));
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
    if (this.#options.worktree)
      return tracked?.hasBelow(path.slice(0, -1)) ? scope : { rules: [], isOther: true };
    if (!repository) this.#reader.refuse(directory, noGitDirectory);
    const inner = await this.#reader.begin(directory, directory, repository);
    return { ...inner, rules: [...inner.rules, ...scope.rules.filter(({ file }) => file.own)] };
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
    const match = scope.ignoredBy ?? matchOf(scope, name, isDirectory);
    if (match && !match.rule.negative && !isTracked(scope, match, name, isDirectory)) {
      if (isDirectory && holdsTracked(scope, match, name)) return { verdict: verdicts.look, match };
      if (!this.#options.onlyIgnored) return { verdict: verdicts.leave, match };
      if (!isDirectory) return taken;
      // Only created if something else is in it.
      if (this.#worktrees.some((one) => one.startsWith(`${at}/`)))
        return { verdict: verdicts.look, match };
      const holds = (one: string) => one.startsWith(`${at}/`) || `${at}/`.startsWith(one);
      const { take, takeAll } = verdicts;
      return { verdict: this.#repositories.some(holds) ? take : takeAll, match };
    }
    if (!this.#options.onlyIgnored) return taken;
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

  /** `path` is below SRC: empty or with a slash at its end. */
  #pathOf(path: string): Buffer {
    return path === '' ? this.#src : join(this.#src, Buffer.from(path.slice(0, -1), 'latin1'));
  }

  #shownPath(path: string): string {
    return joinShown(this.#shown, path.split('/').slice(0, -1).map(textOf).join('/'));
  }
}
