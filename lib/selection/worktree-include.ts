/** .worktreeinclude: what of the ignored entries a worktree gets. */
import {
  lastMatch,
  parseRules,
  type Rule,
  type RuleFile,
  type RulesHere,
  rulesBelow,
  rulesIn,
} from './rules.js';
import { textOf } from './verdict.js';
import { foldCase } from './wildmatch.js';

/** The rules of .worktreeinclude: an entry that git ignores is copied if they match it, as they would ignore it in a .gitignore. */
export class WorktreeInclude {
  readonly root: RulesHere;
  /** SRC is the root of its worktree. */
  isAtTop = false;
  /** Entries that git ignores of which something is left out: paths below SRC, a byte per character. */
  readonly leftOut = new Set<string>();
  /** Rules that have matched nothing so far, each as a file of its own. */
  readonly #unused: Map<string, RuleFile>;
  /** Some rule matches at any depth. */
  readonly #matchesNames: boolean;

  constructor(content: Buffer, fold: boolean) {
    const how = { shown: '.worktreeinclude', own: false, fold };
    const file = parseRules(content, how);
    this.root = rulesIn(file);
    const isPositive = ({ negative }: Rule): boolean => !negative;
    const names = [...file.byName.values(), file.names].flat().filter(isPositive);
    this.#matchesNames = names.length > 0;
    this.#unused = new Map(
      [...names, ...file.paths.filter(isPositive)]
        .sort((a, b) => a.line - b.line)
        .map(({ line, text }) => [
          `'${textOf(text)}' (${how.shown}:${line})`,
          parseRules(Buffer.from(text, 'latin1'), how),
        ]),
    );
  }

  /** Returns the rules that have matched nothing, with their lines. */
  get unused(): string[] {
    return [...this.#unused.keys()];
  }

  /** Returns the rule that decides about an entry. `isOfUse`: a rule that matches it has matched something. */
  match(here: RulesHere, bytes: string, isDirectory: boolean, isOfUse = true): Rule | undefined {
    const name = here.file.fold ? foldCase(bytes) : bytes;
    // The last match hides others, which are of use as well.
    for (const [shown, file] of isOfUse ? this.#unused : []) {
      const alone = { ...here, file, paths: file.paths };
      if (lastMatch(alone, name, isDirectory)) this.#unused.delete(shown);
    }
    return lastMatch(here, name, isDirectory);
  }

  /** Returns the rules in a subdirectory, or undefined if none can match there. */
  below(here: RulesHere, name: string): RulesHere | undefined {
    const below = rulesBelow(here, name);
    const canMatch = this.#matchesNames || below.paths.some(({ negative }) => !negative);
    return canMatch ? below : undefined;
  }
}
