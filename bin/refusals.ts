/** Refuses options that contradict each other, in the user's spelling. `options` are the words that are options. */
import type { Command, Option } from 'commander';
import { findConflict, missingRequirements } from '../lib/request/conflicts.js';
import type { CopyOptions } from '../lib/types.js';

/** Spellings of options whose names differ from the library's, or that only the command line has. */
const spelledFor: Partial<Record<keyof CopyOptions, string[]>> = {
  force: ['clobber', 'errorOnExist'],
  preserve: ['preserve', 'archive', 'p', 'd'],
  hardLink: ['link'],
  symlink: ['symbolicLink'],
  backup: ['backup', 'b'],
  mirror: ['mirror', 'delete'],
  sync: ['sync', 'checksum', 'quickCheck'],
  ignoreFileNames: ['ignoreFileName'],
  concurrency: ['jobs'],
  onError: ['failFast'],
  parents: ['mkpath'],
};

/** Options that have a meaning for `--compare`, as commander names them. */
const meantToCompare = [
  'compare',
  ...['gitignore', 'onlyIgnored', 'ignoreFileName', 'include', 'exclude', 'oneFileSystem'],
  ...['includeFrom', 'excludeFrom', 'progress'],
  ...['p', 'd', 'archive', 'preserve', 'noPreserve', 'dereference'],
  ...['jobs', 'failFast', 'json', 'quiet'],
];

/** Letters that mean something else in rsync, where they seldom stand alone. */
const notInClusters: Record<string, string> = {
  t: "rsync's -t is --preserve=timestamps; for cp's write --target-directory=DIR",
  h: 'sizes are always human-readable; for the help write --help',
};

/**
 * Refuses `-rt` and `-avh`, and `-h` with SRC and DEST: a reader of rsync's manual would not expect cp's -t, or the help.
 * `paths`: how many the user gave.
 */
export function refuseClusters(
  program: Command,
  options: readonly string[],
  paths: number,
  error: (text: string) => never,
): void {
  const longs = new Set<string | undefined>(program.options.map(({ long }) => long)).add('--help');
  if (paths > 1 && options.includes('-h')) error(`-h: ${notInClusters.h}`);
  for (const word of options) {
    if (!/^-[A-Za-z]{2,}$/.test(word) || longs.has(`-${word}`)) continue;
    for (const [letter, why] of Object.entries(notInClusters)) {
      if (word.includes(letter)) error(`-${letter} in '${word}': ${why}`);
    }
  }
}

/** Refuses options that exclude each other, and those that need another one. */
export function refuseConflicts(
  program: Command,
  options: readonly string[],
  copy: CopyOptions,
  compare: boolean,
): void {
  const given = program.options.filter(
    (one) => program.getOptionValueSource(one.attributeName()) === 'cli',
  );
  const find = (...attributes: string[]): Option | undefined =>
    given.find((one) => attributes.includes(one.attributeName()));
  const error = (text: string): never => program.error(`error: ${text}`);
  /** The spelling of a library option that the user gave. */
  const typed = (name: keyof CopyOptions): string => {
    const option = find(...(spelledFor[name] ?? [name]));
    return option ? typedAs(option, options) : `--${name}`;
  };

  const [quiet, loud] = [find('quiet'), find('verbose', 'json')];
  if (quiet && loud) {
    error(`${typedAs(quiet, options)} cannot be combined with ${typedAs(loud, options)}`);
  }
  const other = given.find((one) => !meantToCompare.includes(one.attributeName()));
  if (compare && other) error(`--compare cannot be combined with ${typedAs(other, options)}`);
  const conflict = findConflict(copy);
  if (conflict) {
    const because = conflict.why && `: ${conflict.why}`;
    const others = conflict.others.map(typed).join(' and ');
    error(`${typed(conflict.name)} cannot be combined with ${others}${because}`);
  }
  for (const [name, needed] of missingRequirements(copy)) {
    const { long } = program.options.find((one) => one.attributeName() === needed) ?? {};
    error(`${typed(name)} requires ${long}`);
  }
}

/** Returns the short or the long form, whichever was typed. */
function typedAs({ short, long }: Option, words: readonly string[]): string {
  const isLong = words.some((word) => long && (word === long || word.startsWith(`${long}=`)));
  return isLong || !short ? (long ?? short ?? '') : short;
}
