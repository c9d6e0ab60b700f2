/**
 * What people type who come from cp, rsync and xcp: docs/coming-from.md is made of this, and
 * test/bin/habits.test.ts runs every row. `a` is SRC; `b` exists and holds other versions of some files; `new` does not
 * exist. test/bin/support/habits.ts makes them.
 */
export interface Habit {
  /** The command line of the other tool. */
  habit: string;
  /** The same with fastcp. */
  fastcp: string;
  /** What fastcp does. */
  does: string;
  /** The command of cp or rsync that does what fastcp does here, if it is not `habit`. */
  like?: string;
  /** Fields and top-level paths that differ from the outcome of `habit` or `like`; `does` says why. */
  except?: readonly string[];
  /** fastcp refuses it, and writes nothing: a part of its message. */
  refused?: string;
}

export interface Section {
  title: string;
  rows: readonly Habit[];
}

const same = 'the same';

export const habits: readonly Section[] = [
  {
    title: 'cp: SRC and DEST',
    rows: [
      { habit: 'cp -r a new', fastcp: 'fastcp a new', does: same },
      {
        habit: 'cp -r a/. b',
        fastcp: 'fastcp a b',
        like: 'cp -r --remove-destination a/. b',
        does: "the same, but a replaced file gets SRC's mode",
      },
      {
        habit: 'cp -r a/. b/',
        fastcp: 'fastcp a b',
        like: 'cp -r --remove-destination a/. b/',
        does: 'the same, without the slash: `fastcp a/. b/` would create `b/a`',
      },
      {
        habit: 'cp -rT a b',
        fastcp: 'fastcp -rT a b',
        like: 'cp -rT --remove-destination a b',
        does: "the same, with SRC's modes",
      },
      {
        habit: 'cp -r a b',
        fastcp: 'fastcp -r a b',
        like: 'cp -r --remove-destination a/. b',
        does: 'merges `a` into `b`, whether or not `b` exists; `cp` would create `b/a`',
      },
      { habit: 'cp -r a b', fastcp: 'fastcp a b/', does: 'the same: the slash means "into"' },
      {
        habit: 'cp -r a new/',
        fastcp: 'fastcp a new/',
        like: 'mkdir new && cp -r a new/',
        does: 'creates `new/a`; `cp` would create `new`',
      },
      { habit: 'cp -r a f b', fastcp: 'fastcp a f b', does: same },
      {
        habit: 'cp -r a f new',
        fastcp: 'fastcp a f new',
        like: 'mkdir new && cp -r a f new',
        does: 'creates `new`; `cp` would fail',
      },
      { habit: 'cp -r -t b a f', fastcp: 'fastcp -t b a f', does: same },
      { habit: 'cp f new', fastcp: 'fastcp f new', does: same },
      { habit: 'cp f b/', fastcp: 'fastcp f b/', does: same },
      {
        habit: 'cp f b',
        fastcp: 'fastcp f b',
        refused: "to copy into it, write 'b/'",
        does: 'an error: a file does not replace a directory',
      },
      {
        habit: 'cp -r a new/deep/er',
        fastcp: 'fastcp a new/deep/er',
        like: 'mkdir -p new/deep && cp -r a new/deep/er',
        does: 'creates missing parents; `cp` would fail',
      },
      {
        habit: 'cp -r a new/deep/er',
        fastcp: 'fastcp --no-mkpath a new/deep/er',
        does: 'the same: an error',
      },
      {
        habit: 'cp -r a a/sub/copy',
        fastcp: 'fastcp a a/sub/copy',
        refused: 'the destination is inside the source; exclude it',
        does: 'an error',
      },
    ],
  },
  {
    title: 'cp: existing files',
    rows: [
      {
        habit: 'cp -rf a/. b',
        fastcp: 'fastcp -rf a b',
        like: 'cp -rf --remove-destination a/. b',
        does: "the same, with SRC's modes",
      },
      { habit: 'cp -rn a/. b', fastcp: 'fastcp -rn a b', does: same },
      {
        habit: 'cp -r --update=none a/. b',
        fastcp: 'fastcp -r --update=none a b',
        like: 'cp -rn a/. b',
        does: same,
      },
      { habit: 'cp -rpu a/. b', fastcp: 'fastcp -rpu a b', does: same },
      {
        habit: 'cp -ru a/. b',
        fastcp: 'fastcp -ru a b',
        like: 'cp -ru --remove-destination a/. b',
        except: ['mtime'],
        does: 'the same, and preserves timestamps',
      },
      {
        habit: 'cp -rp --update=older a/. b',
        fastcp: 'fastcp -rp --update=older a b',
        like: 'cp -rpu a/. b',
        does: same,
      },
      {
        habit: 'cp -r --backup a/. b',
        fastcp: 'fastcp -r --backup a b',
        does: 'the same, but the second backup of a file gets a number',
      },
      {
        habit: 'cp -rb a/. b',
        fastcp: 'fastcp -rb a b',
        does: 'the same; VERSION_CONTROL and SIMPLE_BACKUP_SUFFIX are not read',
      },
      {
        habit: 'cp -r --backup=numbered a/. b',
        fastcp: 'fastcp -r --backup=numbered a b',
        does: same,
      },
      {
        habit: 'cp -r --backup=existing a/. b',
        fastcp: 'fastcp -r --backup=existing a b',
        does: same,
      },
      {
        habit: 'cp -r --remove-destination a/. b',
        fastcp: 'fastcp -r a b',
        does: same,
      },
      {
        habit: 'cp -ri a/. b',
        fastcp: 'fastcp -ri a b',
        refused: 'use -n to keep existing files',
        does: 'refused',
      },
    ],
  },
  {
    title: 'cp: metadata, symlinks and hard links',
    rows: [
      { habit: 'cp -a a new', fastcp: 'fastcp -a a new', does: same },
      { habit: 'cp -a a/. b', fastcp: 'fastcp -a a b', does: same },
      {
        habit: 'cp -rp a new',
        fastcp: 'fastcp -rp a new',
        does: 'the same, but ACLs need `-a`',
      },
      {
        habit: 'cp -r --preserve=mode,links a new',
        fastcp: 'fastcp -r --preserve=mode,links a new',
        does: same,
      },
      {
        habit: 'cp -r --preserve=mode,timestamps a new',
        fastcp: 'fastcp -r --preserve=mode,timestamps a new',
        does: same,
      },
      {
        habit: 'cp -r --preserve a new',
        fastcp: 'fastcp -r --preserve a new',
        does: same,
      },
      {
        habit: 'cp -r --preserve=all a new',
        fastcp: 'fastcp -r --preserve=all a new',
        does: same,
      },
      {
        habit: 'cp -r --preserve=timestamps a new',
        fastcp: 'fastcp -r --preserve=timestamps a new',
        does: same,
      },
      {
        habit: 'cp -r --no-preserve=mode a new',
        fastcp: 'fastcp -r --no-preserve=mode a new',
        does: 'the same, except the sticky bit of directories, and default ACLs of DEST',
      },
      {
        habit: 'cp -r --no-preserve=mode --preserve=timestamps a new',
        fastcp: 'fastcp -r --no-preserve=mode --preserve=timestamps a new',
        does: 'the same, with the same exceptions',
      },
      {
        habit: 'cp -r w new',
        fastcp: 'fastcp -r w new',
        like: 'cp -r --preserve=mode w new',
        does: 'preserves modes, which `cp` reduces by the umask',
      },
      { habit: 'cp -rd a new', fastcp: 'fastcp -rd a new', does: same },
      { habit: 'cp -rP a new', fastcp: 'fastcp -rP a new', does: same },
      { habit: 'cp -rL c new', fastcp: 'fastcp -rL c new', does: same },
      {
        habit: 'cp -rH to-c new',
        fastcp: 'fastcp to-c/ new',
        does: 'the same: the slash follows the symlink',
      },
      {
        habit: 'cp -rH to-c new',
        fastcp: 'fastcp -rH to-c new',
        refused: "to follow a symlink given as SRC, write 'SRC/'",
        does: 'refused: `-H` means hard links in `rsync`',
      },
      {
        habit: 'cp -rlP a new',
        fastcp: 'fastcp -rlP a new',
        except: ['hardLinkTo', 'mtime', 'owner'],
        does: 'the same for files; symlinks are copied',
      },
      {
        habit: 'cp -rl a new',
        fastcp: 'fastcp -rl a new',
        like: 'cp -rlP a new',
        except: ['hardLinkTo', 'mtime', 'owner'],
        does: 'copies symlinks; `cp` would create hard links to their targets',
      },
      {
        habit: 'cp -rs "$PWD/a" new',
        fastcp: 'fastcp -rs a new',
        except: ['what'],
        does: 'the same for files; symlinks are copied',
      },
      { habit: 'cp -rx a new', fastcp: 'fastcp -rx a new', does: same },
      {
        habit: 'cp -r --sparse=always a new',
        fastcp: 'fastcp -r --sparse=always a new',
        does: same,
      },
      {
        habit: 'cp -r --reflink=auto a new',
        fastcp: 'fastcp -r --reflink=auto a new',
        does: 'the same, and the default',
      },
      { habit: 'cp -rv a new', fastcp: 'fastcp -rv a new', does: same },
      {
        habit: 'cp --parents a/sub/keep.txt new',
        fastcp: 'fastcp a/sub/keep.txt new/a/sub/keep.txt',
        like: 'mkdir -p new/a/sub && cp a/sub/keep.txt new/a/sub/',
        does: 'copies to exactly that path',
      },
    ],
  },
  {
    title: 'rsync: SRC and DEST',
    rows: [
      { habit: 'rsync -a a/ new', fastcp: 'fastcp -p a new', does: same },
      { habit: 'rsync -a a/ b', fastcp: 'fastcp -p a b', does: same },
      { habit: 'rsync -a a/ b/', fastcp: 'fastcp -p a/. b', does: same },
      { habit: 'rsync -a a b/', fastcp: 'fastcp -p a b/', does: same },
      {
        habit: 'rsync -a a/ b/',
        fastcp: 'fastcp -p a/ b/',
        like: 'rsync -a a b/',
        does: 'creates `b/a`: the slash at DEST counts; write `b` to merge',
      },
      {
        habit: 'rsync -a a b',
        fastcp: 'fastcp -p a b',
        like: 'rsync -a a/ b',
        does: 'merges `a` into `b`; `rsync` would create `b/a`',
      },
      { habit: 'rsync -aHAX a/ new', fastcp: 'fastcp -a a new', does: same },
      {
        habit: 'rsync -a a/ new',
        fastcp: 'fastcp -a a new',
        like: 'rsync -aHAX a/ new',
        does: 'also preserves hard links, ACLs and xattrs',
      },
      {
        habit: 'rsync -a --mkpath a/ new/deep/er',
        fastcp: 'fastcp -p --mkpath a new/deep/er',
        does: same,
      },
      {
        habit: 'rsync -r a/ new',
        fastcp: 'fastcp -r a new',
        like: 'rsync -rlp a/ new',
        does: 'copies symlinks, and preserves modes; `rsync` would skip symlinks',
      },
      {
        habit: 'rsync -rl a/ new',
        fastcp: 'fastcp -rl a new',
        like: 'cp -rlP a new',
        except: ['hardLinkTo', 'mtime', 'owner'],
        does: "creates hard links to SRC's files: `-l` is cp's",
      },
      { habit: 'rsync -aL c/ new', fastcp: 'fastcp -pL c new', does: same },
      { habit: 'rsync -ax a/ new', fastcp: 'fastcp -px a new', does: same },
      { habit: 'rsync -aS a/ new', fastcp: 'fastcp -p --sparse=always a new', does: same },
      {
        habit: 'rsync -aP a/ new',
        fastcp: 'fastcp -pP a new',
        does: "the same; `-P` is cp's, and `--progress` shows progress",
      },
      {
        habit: 'rsync -avz a/ new',
        fastcp: 'fastcp -avz a new',
        refused: 'not needed for local copies; leave it out',
        does: 'refused',
      },
    ],
  },
  {
    title: 'rsync: existing files',
    rows: [
      { habit: 'rsync -a --delete a/ b', fastcp: 'fastcp -p --mirror a b', does: same },
      { habit: 'rsync -aH --delete a/ b', fastcp: 'fastcp -a --sync --delete a b', does: same },
      {
        habit: 'rsync -a --delete a/ b',
        fastcp: 'fastcp -a --delete a b',
        refused: 'use --mirror, which does both',
        does: 'refused: `--delete` needs `--sync`; write `--mirror`',
      },
      {
        habit: 'rsync -a --delete --exclude node_modules --exclude /extra a/ b',
        fastcp: 'fastcp -p --mirror --exclude node_modules --exclude /extra a b',
        does: 'the same: excluded entries of DEST stay',
      },
      {
        habit: 'rsync -a --delete --delete-excluded --exclude /extra a/ b',
        fastcp: 'fastcp -p --mirror --delete-excluded --exclude /extra a b',
        does: same,
      },
      { habit: 'rsync -au a/ b', fastcp: 'fastcp -pu a b', does: same },
      {
        habit: 'rsync -a --ignore-existing a/ b',
        fastcp: 'fastcp -pn a b',
        does: same,
      },
      {
        habit: 'rsync -an --delete a/ b',
        fastcp: 'fastcp -p --mirror --dry-run a b',
        does: 'the same: nothing is written',
      },
      {
        habit: 'rsync -an a/ b',
        fastcp: 'fastcp -pn a b',
        like: 'rsync -a --ignore-existing a/ b',
        does: "copies: `-n` is cp's and keeps existing files; write `--dry-run`",
      },
      { habit: 'rsync -a --checksum a/ b', fastcp: 'fastcp -p --checksum a b', does: same },
      {
        habit: 'rsync -a e/ g',
        fastcp: 'fastcp -p --quick-check e g',
        does: 'the same: trusts equal size and mtime',
      },
      {
        habit: 'rsync -a e/ g',
        fastcp: 'fastcp -p --sync e g',
        like: 'rsync -a --checksum e/ g',
        does: 'compares contents where nothing proves that a file is unchanged',
      },
      {
        habit: 'rsync -ab a/ b',
        fastcp: 'fastcp -pb --sync a b',
        except: ['+b/file.~2~', '-b/file~', 'mtime'],
        does: "the same, but numbered as in `cp`; directories get SRC's timestamps",
      },
      {
        habit: 'rsync -a --existing a/ b',
        fastcp: 'fastcp -p --existing a b',
        refused: 'fastcp creates what is missing',
        does: 'refused',
      },
      {
        habit: 'rsync -a --remove-source-files a/ b',
        fastcp: 'fastcp -p --remove-source-files a b',
        refused: 'fastcp never changes SRC',
        does: 'refused',
      },
      {
        habit: 'rsync -a --link-dest="$PWD/b" a/ new',
        fastcp: 'fastcp -p --link-dest=b a new',
        refused: 'fastcp -al PREV NEW && fastcp -a --mirror SRC NEW',
        does: 'refused',
      },
    ],
  },
  {
    title: 'rsync: selection',
    rows: [
      {
        habit: 'rsync -a --exclude node_modules a/ new',
        fastcp: 'fastcp -p --exclude node_modules a new',
        does: 'the same: a glob without a slash matches a name at any depth',
      },
      {
        habit: 'rsync -a --exclude /build a/ new',
        fastcp: 'fastcp -p --exclude /build a new',
        does: 'the same: relative to SRC',
      },
      {
        habit: 'rsync -a --exclude tmp/ a/ new',
        fastcp: 'fastcp -p --exclude tmp/ a new',
        does: 'the same: directories only',
      },
      {
        habit: "rsync -a --exclude '*.log' a/ new",
        fastcp: "fastcp -p --exclude '*.log' a new",
        does: same,
      },
      {
        habit: "rsync -a --exclude 'sub/*.txt' a/ new",
        fastcp: "fastcp -p --exclude 'sub/*.txt' a new",
        like: "rsync -a --exclude '/sub/*.txt' a/ new",
        does: "relative to SRC, as in .gitignore; write `**/sub/*.txt` for rsync's meaning",
      },
      {
        habit: "rsync -a --exclude 'sub/*.txt' a/ new",
        fastcp: "fastcp -p --exclude '**/sub/*.txt' a new",
        does: same,
      },
      {
        habit: "rsync -a --exclude '/sub/**/*.txt' a/ new",
        fastcp: "fastcp -p --exclude '/sub/**/*.txt' a new",
        like: "rsync -a --exclude '/sub/**.txt' a/ new",
        does: 'also excludes `sub/*.txt`, as `.gitignore` does',
      },
      {
        habit: "rsync -a --exclude 'no*' --exclude '*.tx[!a-s]' a/ new",
        fastcp: "fastcp -p --exclude 'no*' --exclude '*.tx[!a-s]' a new",
        does: same,
      },
      {
        habit: 'rsync -a --exclude-from globs a/ new',
        fastcp: 'fastcp -p --exclude-from globs a new',
        does: 'the same: a glob per line, and comments',
      },
      {
        habit: "rsync -am --include='*/' --include='*.log' --exclude='*' a/ new",
        fastcp: "fastcp -p --include '*.log' a new",
        does: 'the same: `--include` alone copies only matches',
      },
      {
        habit: "rsync -am --include='*/' --include-from wanted --exclude='*' a/ new",
        fastcp: 'fastcp -p --include-from wanted a new',
        does: same,
      },
      {
        habit: "rsync -a --include='*.log' a/ new",
        fastcp: "fastcp -p --include '*.log' a new",
        like: "rsync -am --include='*/' --include='*.log' --exclude='*' a/ new",
        does: 'copies only matches',
      },
      {
        habit: "rsync -a --filter=':- .gitignore' --exclude .git a/ new",
        fastcp: 'fastcp -p --gitignore a new',
        does: same,
      },
      {
        habit: "rsync -a --filter=':- .gitignore' a/ new",
        fastcp: "fastcp -p --filter=':- .gitignore' a new",
        refused: 'use --gitignore',
        does: 'refused',
      },
      {
        habit: 'rsync -a --files-from=wanted a/ new',
        fastcp: 'fastcp -p --files-from=wanted a new',
        refused: 'use --include-from, which reads globs',
        does: 'refused',
      },
    ],
  },
  {
    title: 'xcp',
    rows: [
      {
        habit: 'xcp -r --gitignore a new',
        fastcp: 'fastcp -r --gitignore a new',
        like: "rsync -rlp --filter=':- .gitignore' --exclude .git a/ new",
        does: same,
      },
      {
        habit: 'xcp -r --workers 4 a new',
        fastcp: 'fastcp -r --workers 4 a new',
        refused: 'use -j',
        does: 'refused',
      },
      {
        habit: 'xcp -rT --backup=auto a b',
        fastcp: 'fastcp -rT --backup=existing a b',
        like: 'cp -rT --backup=existing a b',
        does: '`--backup=existing`',
      },
    ],
  },
];
