import { describe, expect, test } from 'vitest';
import { type Invocation, parseArgs as parse } from '../../bin/args.js';
import { plainInvocation } from '../../bin/plain.js';

const parseArgs = (argv: string[]): Invocation => {
  const parsed = parse(argv);
  return parsed === 'doctor' ? expect.fail() : parsed;
};

describe('paths alone need no parser', () => {
  test.each([[['a', 'b']], [['a', 'b/', 'c']], [['', 'b']], [['a\udcff', 'help']]])(
    '%j',
    (words) => {
      expect(plainInvocation(words)).toEqual(parseArgs(words));
    },
  );

  test.each([[[]], [['a']], [['a', '-n', 'b']], [['--', 'a', 'b']], [['-', 'b']]])(
    'but %j',
    (words) => {
      expect(plainInvocation(words)).toBeUndefined();
    },
  );
});

describe('what becomes of options', () => {
  test.each<[string, object]>([
    ['', {}],
    ['-f --recursive -r -R -P --mkpath --no-dereference --force', {}],
    ['-n', { force: false }],
    ['-nf', { force: false }],
    ['-u', { update: true }],
    ['--update=older', { update: true }],
    ['--update=none', { force: false }],
    ['--update=none-fail', { force: false, errorOnExist: true }],
    ['--sync --delete', { sync: true, mirror: true }],
    ['--no-mkpath', { parents: false }],
    ['-d', { preserve: ['mode', 'hardLinks'] }],
    ['-dp', { preserve: ['mode', 'timestamps', 'ownership', 'hardLinks'] }],
    ['-b', { backup: 'existing' }],
    // Values that look like options.
    ['--exclude --backup', { exclude: ['--backup'] }],
    ['--exclude --doctor', { exclude: ['--doctor'] }],
    ['--exclude -what --include -avh', { exclude: ['-what'], include: ['-avh'] }],
    ['--exclude -- -n', { exclude: ['--'], force: false }],
    ['--backup=t', { backup: 'numbered' }],
    ['--backup', { backup: 'existing' }],
    ['--preserve', { preserve: ['mode', 'timestamps', 'ownership'] }],
    ['--reflink', { reflink: 'always' }],
    ['--error-on-exist', { errorOnExist: true, force: false }],
    ['--reflink=never', { reflink: 'never' }],
    ['-j 4', { concurrency: 4 }],
    ['--jobs=1024', { concurrency: 1024 }],
    ['--fail-fast', { onError: 'stop' }],
    ['-x', { oneFileSystem: true }],
    ['--gitignore', { gitignore: true }],
    ['--only-ignored', { onlyIgnored: true }],
    ['--worktree', { worktree: true }],
    ['--ignore-file-name .a --ignore-file-name=.b', { ignoreFileNames: ['.a', '.b'] }],
    ['--include *.ts --include=b --exclude c', { include: ['*.ts', 'b'], exclude: ['c'] }],
    ['--dry-run', { dryRun: true, entries: true }],
    ['--dry-run -q', { dryRun: true }],
    ['-v', { entries: true }],
    ['-xvj8', { oneFileSystem: true, entries: true, concurrency: 8 }],
    ['--json --progress', {}],
    ['-p', { preserve: ['mode', 'timestamps', 'ownership'] }],
    ['-a', { preserve: true }],
    ['-ap', { preserve: true }],
    ['--preserve=links,xattr', { preserve: ['mode', 'hardLinks', 'xattrs'] }],
    ['--no-preserve', { preserve: false }],
    ['--no-preserve --preserve=timestamps', { preserve: ['timestamps'] }],
    ['--preserve=links --no-preserve -d', { preserve: ['hardLinks'] }],
    ['--preserve=all --strict', { preserve: true, strict: true }],
    ['-L --fsync', { dereference: true, fsync: true }],
    ['-l', { hardLink: true }],
    ['--symbolic-link', { symlink: true }],
    ['--atomic', { atomic: true }],
    ['--atomic=two-step', { atomic: 'two-step' }],
    ['--snapshot', { snapshot: 'always' }],
    ['--snapshot=auto --atomic', { snapshot: 'auto', atomic: true }],
    ['--sparse always --backup=numbered', { sparse: 'always', backup: 'numbered' }],
  ])('%s', (options, expected) => {
    const { copy } = parseArgs([...words(options), 'src', 'dest']);
    expect(copy).toStrictEqual({ onError: 'continue', ...expected });
  });

  test.each([
    ['', undefined],
    ['--progress', true],
    ['--no-progress', false],
    ['--no-progress --progress', true],
  ])('progress with %s', (options, expected) => {
    expect(parseArgs([...words(options), 'src', 'dest']).output.progress).toBe(expected);
  });
});

describe('what becomes of paths', () => {
  test.each([
    ['src dest', ['src'], 'dest'],
    ['a b dest/', ['a', 'b'], 'dest/'],
    ['a -v dest', ['a'], 'dest'],
    ['-- -v --jobs', ['-v'], '--jobs'],
    ['--atomic two-step dest', ['two-step'], 'dest'],
    ['--reflink a dest', ['a'], 'dest'],
    ['--preserve a dest', ['a'], 'dest'],
    ['--backup a dest', ['a'], 'dest'],
    ['--update a dest', ['a'], 'dest'],
    ['-t / a b', ['a', 'b'], '//'],
    ['-aT a dir//', ['a'], 'dir'],
    ['-T a /', ['a'], '/'],
    ['-- --atomic --snapshot', ['--atomic'], '--snapshot'],
  ])('%s', (line, sources, dest) => {
    expect(parseArgs(words(line))).toMatchObject({ sources, dest });
  });
});

test.each([
  '',
  'src',
  'src dest --nope',
  'src dest --reflink=maybe',
  'src dest --sparse',
  'src dest -j many',
  'src dest -q -v',
  'src dest -q --json',
  'src dest --backup=simple',
  'src dest --sparse never',
  'src dest --snapshot=maybe',
])('wrong usage: %s', (line) => {
  expect(() => parseArgs(words(line))).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
  );
});

function words(line: string): string[] {
  return line.split(' ').filter(Boolean);
}
