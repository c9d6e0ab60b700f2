/** Options of cp, rsync and others that fastcp does not have, and their replacements. */
import { refuse } from './refuse.js';

const always = 'fastcp always does this; leave the option out';
const notNeeded = 'not needed for local copies; leave it out';
const mirror = 'use --mirror';

/** By the option. Several spellings share a line. */
const instead: Record<string, string> = {
  '-i --interactive': 'use -n to keep existing files, or --dry-run to see them first',
  '--parents':
    'fastcp creates missing parents of DEST itself; to keep the path of SRC, write it in DEST',
  '--attributes-only': 'use --sync -p on a copy: it sets metadata and copies nothing unchanged',
  '--remove-destination': 'fastcp replaces files by renaming; leave the option out',
  '--strip-trailing-slashes': 'write SRC without the slash',
  '--suffix': 'backups have the suffix ~, or .~1~ if numbered',
  '-Z --context': 'fastcp sets no default context (restorecon does); -a preserves that of SRC',
  // Known without a value.
  '--update': 'known are --update=all, older, none and none-fail',
  '--copy-contents': 'fastcp copies FIFOs and devices as such',
  '--debug': 'set NODE_DEBUG=fastcp',
  '--keep-directory-symlink -K --keep-dirlinks': 'name the directory itself as DEST',
  '--hard-links': 'use -d, -a or --preserve=links',
  '-H': "to preserve hard links, use -d or -a; to follow a symlink given as SRC, write 'SRC/'",
  '-A --acls -X --xattrs': 'use -a or --preserve=xattr',
  '-o --owner -g --group': 'use -p or --preserve=ownership',
  '--perms --executability': always,
  '--times': 'use -p or --preserve=timestamps',
  '-D --devices --specials': always,
  '-S': 'for sparse files, use --sparse=always; backups have the suffix ~, or .~1~ if numbered',
  '--links': always,
  '-k --copy-dirlinks': 'use -L to copy the targets of symlinks',
  '--copy-links': 'use -L',
  '--copy-unsafe-links --safe-links --munge-links':
    'symlinks are copied as they are; use -L or --exclude',
  '--no-links': 'exclude the symlinks by name',
  '-c': 'use --checksum',
  '-I --ignore-times': 'use --checksum',
  '--size-only': 'use --quick-check, which compares size and mtime',
  '--modify-window': 'fastcp knows the timestamp granularity of each file system',
  '--existing --ignore-non-existing': 'not supported: fastcp creates what is missing',
  '--ignore-existing': 'use -n',
  '--remove-source-files': 'not supported: fastcp never changes SRC',
  '--del --delete-before --delete-during --delete-delay --delete-after': mirror,
  '--max-delete': 'use --mirror --dry-run to see what would be deleted',
  '--ignore-errors': `${always}: only directories that cannot be read protect their copies`,
  '--link-dest --copy-dest --compare-dest':
    'for hard links to an earlier copy: fastcp -al PREV NEW && fastcp -a --mirror SRC NEW',
  '--files-from': 'use --include-from, which reads globs',
  '--filter --cvs-exclude -C -F': 'use --gitignore, --ignore-file-name, --include and --exclude',
  '--relative': 'write the path in DEST',
  '--dirs --no-recursive': 'fastcp copies directories with everything in them; use --exclude',
  '--max-size --min-size': 'not supported; the library has a filter function',
  '--chmod --chown --usermap --groupmap': 'not supported; change the copy afterwards',
  '--numeric-ids --super': notNeeded,
  '--fake-super': 'fastcp stores no owners in xattrs; use tar',
  '-z --compress --compress-level': notNeeded,
  '--bwlimit': 'not supported: fastcp copies as fast as it can; -j 1 uses one thread',
  '--partial --partial-dir':
    'not supported: a file whose copy was interrupted is copied again from its beginning',
  '--watch': 'fastcp copies once: call it again with --sync or --mirror after a change',
  '--whole-file -W --delay-updates --temp-dir': notNeeded,
  '--inplace --append --append-verify':
    'not supported: fastcp writes a new file and renames it over the old one',
  '-m --prune-empty-dirs': 'with --include fastcp creates only directories that something is in',
  '--info --stats --itemize-changes --out-format --log-file': 'use -v or --json',
  '--human-readable': `${always}, and --json has exact numbers`,
  '-e --rsh --rsync-path --timeout --contimeout --port --daemon':
    'fastcp works on one machine only',
  '--overwrite': 'fastcp replaces existing files; use -n to keep them',
  '--hard-link --hardlink': 'use -l',
  '--symlink --soft-link': 'use -s',
  '-w --workers --threads': 'use -j',
  '--block-size --driver': 'fastcp chooses the copy method itself; see --doctor',
  '--skip-existing --no-force': 'use -n',
  '--ignore-file': 'use --ignore-file-name',
  '--stop': 'use --fail-fast',
};

const byOption = new Map(
  Object.entries(instead).flatMap(([options, text]) =>
    options.split(' ').map((option) => [option, text] as const),
  ),
);

/**
 * Returns commander's message about an option that fastcp does not have, or that takes no value, with its replacement. Other
 * messages stay.
 */
export function insteadOf(text: string, known: readonly string[]): string {
  const [, word = '', value] = /^error: unknown option '([^'=]+)(=.*)?'$/ms.exec(text) ?? [];
  // The first of several short options.
  const option = /^-[A-Za-z]{2,4}$/.test(word) ? word.slice(0, 2) : word;
  const hint = byOption.get(option);
  const what = known.includes(option) ? `'${option}${value}'` : `unknown option '${option}'`;
  if (hint !== undefined) return `${what}: ${hint}`;
  if (known.includes(`-${word}`)) return `unknown option '${word}'\n(Did you mean -${word}?)`;
  return value && known.includes(word) ? `${word} takes no value` : text;
}

/** Letters that mean something else in rsync, where they seldom stand alone. */
const otherLetters: Record<string, string> = {
  t: "rsync's -t is --preserve=timestamps; for cp's write --target-directory=DIR",
  h: 'sizes are always human-readable; for the help write --help',
};

/**
 * Refuses `-rt` and `-avh`, and `-h` with SRC and DEST: a reader of rsync's manual would not expect cp's -t, or the help. Refuses
 * numbers, which commander takes for paths. `known`: the long options; `paths`: how many the user gave.
 */
export function refuseLetters(
  options: readonly string[],
  known: readonly (string | undefined)[],
  paths: number,
): void {
  for (const word of options) {
    const isCluster =
      (/^-[A-Za-z]{2,}$/.test(word) && !known.includes(`-${word}`)) || (word === '-h' && paths > 1);
    const letter = isCluster ? /[th]/.exec(word)?.[0] : undefined;
    if (letter) refuse(`-${letter} in '${word}': ${otherLetters[letter]}`);
    if (/^-[^-jt]*[\d.]/.test(word))
      refuse(`unknown option '${word}'; for a path write './${word}'`);
  }
}

/** Every option that has a hint. For tests. */
export const knownHabits: readonly string[] = [...byOption.keys()];
