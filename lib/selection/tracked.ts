/** What git tracks. */
import { foldCase } from './wildmatch.js';

/** How git lists a submodule without a git directory if it is asked there. */
export const itself = './';

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
