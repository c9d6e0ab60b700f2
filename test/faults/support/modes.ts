import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFiles, makeSparseFile } from '../../support/trees.js';
import { hasTool, isRoot } from '../../support/work.js';

/** A way to copy: together they make the engine make all of its calls. */
export interface Mode {
  args?: string[];
  /** What DEST holds before: nothing, another tree, or an older copy of this one. */
  dest?: 'different' | 'older';
  src?: 'large';
  umask?: string;
  /** Faults that are always there, so that the engine takes another way. */
  always?: string;
}

export const modes: Record<string, Mode> = {
  default: {},
  over: { dest: 'different' },
  'read and write': { args: ['--reflink=never'] },
  archive: { args: ['-a'], umask: '077' },
  'archive over': { args: ['-a'], dest: 'different' },
  mirror: { args: ['--mirror'], dest: 'different' },
  'mirror archive': { args: ['--mirror', '-a'], dest: 'different' },
  'mirror selection': { args: ['--mirror', '--exclude=/*.no'], dest: 'different' },
  atomic: { args: ['--atomic'], dest: 'different' },
  'atomic archive': { args: ['--atomic', '-a'], dest: 'different' },
  update: { args: ['--sync', '-p'], dest: 'older' },
  fsync: { args: ['--fsync'] },
  verify: { args: ['--verify'] },
  dereference: { args: ['-L'] },
  'hard links': { args: ['--link'], dest: 'different' },
  symlinks: { args: ['--symbolic-link'] },
  backup: { args: ['--backup=numbered'], dest: 'different' },
  'backup without links': {
    args: ['--backup=numbered'],
    dest: 'different',
    always: 'linkat:1:1:999999',
  },
  umask: { umask: '777' },
  sparse: { args: ['--sparse=always'] },
  selection: { args: ['--exclude=/*.no'] },
  'large file': { src: 'large' },
  'large file, read and write': { src: 'large', args: ['--reflink=never'] },
  'keep existing': { args: ['-n'] },
  'keep existing, without O_TMPFILE': { args: ['-n'], always: 'openat(O_TMPFILE):95:1:999999' },
  'first error': { args: ['--fail-fast'] },
};

/** Which modes run the code of a source file, by a part of its path. */
const runs: [source: RegExp, mode: RegExp][] = [
  [/mirror|answers|verdicts|questions/, /mirror/],
  [/attributes|metadata|settle|directory_end|access/, /archive/],
  [/unchanged|mark|sync_state/, /update|mirror/],
  [/copy_content|compare/, /read and write|large|sparse|verify/],
  [/existing|backups|names|place/, /over|backup|existing/],
  [/hard_link|symlinks|special|link_instead|trial/, /hard links|symlinks|dereference|archive/],
  [/atomic/, /atomic/],
  [/selection/, /selection/],
];

/** The modes that run what the last ten commits, and what is not committed yet, have changed. */
export function changedModes(): Set<string> {
  const git = (...words: string[]): string => {
    const { status, stdout } = spawnSync('git', words, { encoding: 'utf8' });
    return status === 0 ? stdout : ''; // not in a checkout: nothing is known
  };
  const changed =
    git('log', '-10', '--format=', '--name-only') + git('diff', '--name-only', 'HEAD');
  const sources = changed.split('\n').filter((path) => /^(binding|lib)\//.test(path));
  const wanted = runs.filter(([source]) => sources.some((path) => source.test(path)));
  return new Set(Object.keys(modes).filter((name) => wanted.some(([, mode]) => mode.test(name))));
}

const MiB = 1 << 20;

/** One of each kind that makes a difference to the calls that are made. */
export function makeSource(root: string): string {
  makeFiles(root, {
    'a/file': 'content',
    'a/empty': '',
    'a/large': Buffer.alloc(300_000, 'large '),
    'a/other.no': Buffer.alloc(70_000, 'other '),
    'b/c/d/deep': 'deep',
    'b/zeros': Buffer.alloc(100_000),
    'b/one': 'has two names',
    'private/secret': 'x',
    'attributes/file': 'with attributes',
  });
  makeSparseFile(join(root, 'b/holes'), MiB, [512 * 1024]);
  for (let i = 0; i < 12; i++)
    writeFileSync(join(root, `a/${'n'.repeat(90)} ${i}`), `${i}`.repeat(200));
  mkdirSync(join(root, 'empty directory'));
  linkSync(join(root, 'b/one'), join(root, 'a/two'));
  symlinkSync('file', join(root, 'a/link'));
  symlinkSync('../b/c', join(root, 'a/link to a directory'));
  execFileSync('mkfifo', [join(root, 'b/fifo')]);
  if (isRoot) execFileSync('mknod', [join(root, 'b/null'), 'c', '1', '3']);
  const give = (tool: string, ...args: string[]): void => {
    if (hasTool(tool)) execFileSync(tool, args);
  };
  for (const name of ['attributes', 'attributes/file']) {
    give('setfattr', '-n', 'user.test', '-v', 'value', join(root, name));
    give('setfacl', '-m', 'u:1234:rwx', join(root, name));
  }
  if (isRoot) give('setfattr', '-h', '-n', 'trusted.test', '-v', 'x', join(root, 'a/link'));
  if (isRoot)
    execFileSync('chown', [
      '-h',
      '1234:1234',
      ...['a/file', 'a/link', 'b/fifo', 'private'].map((name) => join(root, name)),
    ]);
  chmodSync(join(root, 'a/file'), 0o444);
  chmodSync(join(root, 'a/large'), 0o755);
  chmodSync(join(root, 'private'), 0o700);
  chmodSync(join(root, 'b/c'), 0o555);
  execFileSync('find', [
    root,
    '-exec',
    'touch',
    '-h',
    '-d',
    '2020-02-02 02:02:02.123456789',
    '{}',
    '+',
  ]);
  return root;
}

export function makeLargeSource(root: string): string {
  mkdirSync(root);
  makeSparseFile(join(root, 'large'), 70 * MiB, [0, 40 * MiB, 69 * MiB]);
  writeFileSync(join(root, 'small'), 'small');
  return root;
}

/** DEST is replaced whole, or stays. */
export const isAtomic = ({ args = [] }: Mode): boolean => args.includes('--atomic');

/** What DEST holds before a copy; undefined where that is nothing. */
export function makeBefore({ dest, args }: Mode, src: string, root: string): string | undefined {
  if (dest === undefined) return undefined;
  mkdirSync(root);
  if (dest === 'older') makeOlder(src, root);
  else makeDifferent(root, args?.includes('--mirror') === true);
  return root;
}

/** Of every kind, in the place of another kind or of other content, and what SRC has not. */
function makeDifferent(dest: string, mirrored: boolean): void {
  makeFiles(dest, {
    'a/file': 'old',
    'a/large': Buffer.alloc(300_000, 'old '),
    'a/link': 'no link',
    'b/one': 'old and alone',
    'b/zeros': Buffer.alloc(100_000),
    'b/fifo': 'no fifo',
    'attributes/file': 'old',
    extra: 'not in SRC',
    'extra directory/e/f': 'neither',
    'extra directory/g': 'nor this',
  });
  symlinkSync('old', join(dest, 'extra link'));
  if (mirrored) {
    writeFileSync(join(dest, 'empty directory'), 'no directory');
    mkdirSync(join(dest, 'b/holes/in it'), { recursive: true });
    chmodSync(join(dest, 'extra directory/e'), 0o500);
  }
  if (hasTool('setfacl')) {
    execFileSync('setfacl', ['-m', 'u:77:rwx', join(dest, 'a')]);
    execFileSync('setfacl', ['-d', '-m', 'u:77:rwx', join(dest, 'b')]);
  }
  execFileSync('find', [dest, '-exec', 'touch', '-h', '-d', '2001-01-01', '{}', '+']);
}

/** Makes some of an equal tree different in one respect each. */
function makeOlder(src: string, dest: string): void {
  execFileSync('cp', ['-a', `${src}/.`, dest]);
  writeFileSync(join(dest, 'a/empty'), 'no longer');
  writeFileSync(join(dest, 'b/c/d/deep'), 'DEEP'); // as long
  utimesSync(join(dest, 'a/large'), 1, 1);
  chmodSync(join(dest, 'a/other.no'), 0o600);
  execFileSync('ln', ['-sfn', 'elsewhere', join(dest, 'a/link')]);
}
