import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Entry, readTree } from '../support/compare.js';
import { buildPrebuilds } from '../support/prebuilds.js';
import { makeFiles } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';
import {
  drive,
  hasWine,
  isWindows,
  nodePath,
  onZ,
  prepareWine,
  type Version,
  versions,
  wine,
} from './support/wine.js';

// The binary for Windows, in Node for Windows, on a tree that Linux has made and looks at afterwards. What
// wine has none of (links, junctions, clones) is not tested here; reparse.test.ts looks at what a link holds.
// `npm run test:portable` runs this on Windows itself, with its own Node.

const root = join(import.meta.dirname, '../..');
const minutes = 60_000;

test.skipIf(isWindows)('wine is installed (Debian: wine64 and wine)', (context) => {
  if (!hasWine && !process.env.CI) {
    console.warn('NOTHING OF WINDOWS IS TESTED: wine is not installed');
    context.skip('wine is not installed');
  }
  expect(hasWine).toBe(true);
});

/** What a copy has to have; of modes Windows has only whether a file may be written. */
function contents(directory: string): Record<string, string> {
  const show = ({ kind, what, mode }: Entry): string =>
    `${kind} ${what} ${kind === 'file' && (Number.parseInt(mode, 8) & 0o222) === 0}`;
  return Object.fromEntries([...readTree(directory)].map(([name, entry]) => [name, show(entry)]));
}

function expectCopy(src: string, dest: string): void {
  expect(contents(dest)).toEqual(contents(src));
}

const tested = isWindows ? [process.version] : hasWine ? versions : [];

describe.each(tested)('Node %s', (version) => {
  const work = workDirectory('wine');
  const node = isWindows ? process.execPath : nodePath(version as Version);
  const at = (name: string): string => join(work, name);

  beforeAll(() => {
    if (isWindows) return;
    buildPrebuilds('win32-x64');
    prepareWine();
  }, 10 * minutes);

  const command = (...args: string[]) =>
    wine(node, [onZ(join(root, 'dist/fastcp.cjs')), ...args], { cwd: work });

  /** Calls functions of the library, in one process: of each what it gives, or `error`. */
  async function callAll(...calls: [name: string, ...args: unknown[]][]) {
    const script = onZ(join(import.meta.dirname, 'support/copy.cjs'));
    const args = [script, `${drive}${join(root, 'dist')}`, JSON.stringify(calls)];
    const { exitCode, stdout, stderr } = await wine(node, args, { cwd: work });
    expect({ exitCode, stderr }, stdout).toEqual({ exitCode: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  async function call(name: string, ...args: unknown[]) {
    const [outcome] = await callAll([name, ...args]);
    return outcome;
  }

  function makeSource(name: string): string {
    const src = makeFiles(at(name), {
      'a file': 'small',
      empty: '',
      'ünïcödé/日本語/😀.txt': 'names',
      [`long names/${'n'.repeat(255)}`]: 'as long as a name can be',
      [`long names/${'é'.repeat(120)}`]: 'as long in bytes',
      'read-only/file': 'not to be written',
      ' a leading space': 'x',
      middling: Buffer.alloc(300_001, 'fastcp'),
    });
    chmodSync(join(src, 'read-only/file'), 0o444);
    mkdirSync(join(src, 'empty directory/also empty'), { recursive: true });
    return src;
  }

  test('command line: a tree with all that Windows can name', async () => {
    const src = makeSource('src');
    // Far beyond 260 characters, and wide.
    makeFiles(src, { [`${'deep directory/'.repeat(40)}file`]: 'deep down' });
    mkdirSync(join(src, 'wide'));
    for (let i = 0; i < 300; i++) writeFileSync(join(src, 'wide', `${i}`), `${i}`);
    const { exitCode, stdout, stderr } = await command('src', 'dest');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Copied 309 files, 48 directories, \d+ kB in /);
    expectCopy(src, at('dest'));
  });

  test('a large file, copied in parts', async () => {
    writeFileSync(at('large'), Buffer.alloc(70 << 20, 'what is in it'));
    expect((await call('copyTree', 'large', 'large copy')).result.methods.readWrite).toBe(1);
    expect(readFileSync(at('large copy')).equals(readFileSync(at('large')))).toBe(true);
  });

  test('a large file is written in order, so that NTFS fills no gap with zeros', async (context) => {
    needTool(context, 'strace');
    writeFileSync(at('ordered'), Buffer.alloc(160 << 20, 'what is in it'));
    const trace = at('trace');
    const under = ['strace', '-f', '-qq', '-e', 'trace=pwrite64', '-e', 'signal=none', '-o', trace];
    const script = onZ(join(root, 'dist/fastcp.cjs'));
    const { exitCode } = await wine(node, [script, 'ordered', 'ordered copy'], {
      cwd: work,
      under,
    });
    expect(exitCode).toBe(0);
    // Each thread has its own number in front; another thread may write while a call waits.
    const offsets = [
      ...readFileSync(trace, 'utf8').matchAll(/pwrite64\(\d+, ".*, \d{5,}, (\d+)/g),
    ].map(([, offset]) => Number(offset));
    expect(offsets.length).toBeGreaterThan(100);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
  });

  test('paths: with a drive, with backslashes and slashes, into a directory, to missing parents', async () => {
    makeFiles(at('paths'), { 'in/file': 'x' });
    await callAll(
      ['copyTree', onZ(at('paths')), `${drive}${at('one/two')}`],
      ['copyTree', ['.\\paths\\in'], 'into\\'],
      ['copyTree', 'paths\\..\\paths/in', 'up/../dots'],
      ['copyTree', `\\\\?\\${onZ(at('paths'))}`, 'verbatim'],
    );
    for (const name of ['one/two', 'into', 'verbatim']) expectCopy(at('paths'), at(name));
    expectCopy(at('paths/in'), at('dots'));
    const { stdout } = await command('-v', 'paths', 'shown');
    expect(stdout).toContain('copy paths\\in\\file -> shown\\in\\file\n');
  });

  const failures: [src: string, dest: string, options: object, error: object][] = [
    [
      'nowhere',
      'x',
      {},
      {
        code: 'ENOENT',
        errno: -4058,
        message: "ENOENT: no such file or directory, lstat 'nowhere'",
      },
    ],
    ['errors', 'Q:\\x', {}, { code: 'ENOENT' }],
    ['plain', 'a?b', {}, { code: 'EINVAL', errno: -4071 }],
    ['errors', 'ERRORS', {}, { code: 'ERR_FS_CP_EINVAL' }],
    ['errors', 'errors\\directory\\x', {}, { code: 'ERR_FS_CP_EINVAL' }],
    ['errors', 'plain', {}, { code: 'ERR_FS_CP_DIR_TO_NON_DIR' }],
    ['plain', 'errors\\directory', {}, { code: 'ERR_FS_CP_NON_DIR_TO_DIR', errno: -4068 }],
    ['errors', 'C:\\', { mirror: true }, { code: 'ERR_FASTCP_DEST_PROTECTED' }],
    ['plain', 'x', { reflink: 'always' }, { code: 'ENOTSUP', errno: -4049 }],
    ['errors', 'x', { snapshot: 'always' }, { code: 'ERR_FASTCP_NO_SNAPSHOT' }],
    ['errors', 'there', { atomic: true }, { code: 'ERR_FASTCP_NO_EXCHANGE' }],
  ];

  test('errors have the codes, the numbers and the paths that they have in Node for Windows', async () => {
    makeFiles(work, { plain: 'x', 'errors/directory/file': 'y', 'there/file': 'z' });
    const calls = failures.map(([src, dest, options]) => ['copyTree', src, dest, options]);
    const outcomes = await callAll(...(calls as [string][]));
    expect(outcomes).toMatchObject(failures.map(([, , , error]) => ({ error })));
  });

  test.skipIf(isWindows)('names that differ in case only are one there', async () => {
    makeFiles(at('cases'), { name: 'one', NAME: 'other' });
    const { error } = await call('copyTree', 'cases', 'cases copy');
    expect(error.code).toBe('ERR_FASTCP_NAME_COLLISION');
  });

  test('what DEST has: replaced, skipped, refused, kept under another name', async () => {
    const src = makeFiles(at('present'), { file: 'new', 'read-only': 'new' });
    const make = (name: string): string => {
      const dest = makeFiles(at(name), { file: 'old', 'read-only': 'old', other: 'x' });
      chmodSync(join(dest, 'read-only'), 0o444);
      return dest;
    };
    const replaced = make('replaced');
    expect((await call('copyTree', 'present', 'replaced')).result.files).toBe(2);
    expect(readFileSync(join(replaced, 'read-only'), 'utf8')).toBe('new');
    make('kept');
    expect((await call('copyTree', 'present', 'kept', { force: false })).result.skipped).toBe(2);
    expect(readFileSync(at('kept/file'), 'utf8')).toBe('old');
    const refuse = { force: false, errorOnExist: true };
    const { error } = await call('copyTree', 'present', 'kept', refuse);
    expect(error.code).toBe('ERR_FS_CP_EEXIST');
    make('backed up');
    await call('copyTree', 'present', 'backed up', { backup: 'numbered' });
    expect(readFileSync(at('backed up/file.~1~'), 'utf8')).toBe('old');
    expect(readFileSync(join(src, 'file'), 'utf8')).toBe('new');
  });

  test('times, and names of one file', async () => {
    const src = makeFiles(at('kept times'), { one: 'x' });
    linkSync(join(src, 'one'), join(src, 'two'));
    utimesSync(join(src, 'one'), 1_000_000_000, 1_234_567_890.125);
    utimesSync(src, 1_000_000_000, 1_111_111_111);
    const { result } = await call('copyTree', 'kept times', 'times', { preserve: true });
    expect(result).toMatchObject({ files: 1, hardLinks: 1, warnings: [] });
    expect(statSync(at('times/one')).mtimeMs).toBe(1_234_567_890_125);
    expect(statSync(at('times')).mtimeMs).toBe(1_111_111_111_000);
    expect(statSync(at('times/one')).nlink).toBe(2);
    expect(
      (await call('copyTree', 'kept times', 'linked', { hardLink: true })).result.hardLinks,
    ).toBe(2);
    expect(statSync(at('linked/one')).ino).toBe(statSync(join(src, 'one')).ino);
  });

  test('update, mirror and comparison', async () => {
    const src = makeSource('again');
    const copy = (options: object) => call('copyTree', 'again', 'again copy', options);
    await copy({ sync: true });
    expect((await copy({ sync: true })).result).toMatchObject({ files: 0, unchanged: 8 });
    writeFileSync(join(src, 'empty'), 'not any more');
    makeFiles(at('again copy'), { 'extra/read-only': 'x', 'extra/more/file': 'y' });
    chmodSync(at('again copy/extra/read-only'), 0o444);
    const { result } = await call('compareTrees', 'again', 'again copy');
    expect(
      result.differences.map(({ type, b }: { type: string; b: string }) => `${type} ${b}`),
    ).toEqual(['content again copy\\empty', 'onlyInB again copy\\extra']);
    expect((await copy({ mirror: true })).result).toMatchObject({ files: 1, deleted: 4 });
    expectCopy(src, at('again copy'));
  });

  test('selection: .gitignore, globs', async () => {
    const src = makeFiles(at('selection'), {
      '.gitignore': '*.log\n/build/\n',
      'a.log': '',
      'build/x': '',
      'lib/a.ts': '',
      'lib/a.map': '',
    });
    expect(existsSync(src)).toBe(true);
    await call('copyTree', 'selection', 'selected', { gitignore: true, exclude: ['**/*.map'] });
    expect(Object.keys(contents(at('selected'))).sort()).toEqual([
      '',
      '.gitignore',
      'lib',
      'lib/a.ts',
    ]);
  });

  test('fastcp/fs', async () => {
    const src = makeSource('node');
    const recursive = { recursive: true };
    await callAll(['cp', 'node', 'cp', recursive], ['cpSync', 'node', 'cpSync', recursive]);
    expectCopy(src, at('cp'));
    expectCopy(src, at('cpSync'));
  });

  test('atomic in two steps, and what a killed process has left', async () => {
    const src = makeSource('whole');
    makeFiles(at('replaced whole'), { 'old/file': 'x' });
    const left = at('.replaced whole.fastcp-0123456789abcdef');
    makeFiles(left, { half: 'a copy' });
    writeFileSync(`${left}.lock`, '');
    const { result } = await call('copyTree', 'whole', 'replaced whole', { atomic: 'two-step' });
    expect(result).toMatchObject({ replaced: true, warnings: [] });
    expectCopy(src, at('replaced whole'));
    expect(readdirSync(work).filter((name) => name.includes('.fastcp-'))).toEqual([]);
  });

  test('holes, and zeros that are to become some', async () => {
    writeFileSync(at('holes'), '');
    truncateSync(at('holes'), 3 << 20);
    await callAll(
      ['copyTree', 'holes', 'holes copy'],
      ['copyTree', 'holes', 'holes made', { sparse: 'always' }],
    );
    for (const name of ['holes copy', 'holes made']) {
      expect(readFileSync(at(name)).equals(Buffer.alloc(3 << 20))).toBe(true);
    }
  });

  test('fsync and verify', async () => {
    const src = makeSource('sure');
    await call('copyTree', 'sure', 'sure copy', { fsync: true, verify: true });
    expectCopy(src, at('sure copy'));
  });

  test('a host by another name, as Electron is, a worker thread in it, and import', async () => {
    makeFiles(at('hosted'), { file: 'x' });
    copyFileSync(node, at('another name.exe'));
    writeFileSync(
      at('host.mjs'),
      `import { Worker, isMainThread } from 'node:worker_threads';
       import { copyTree } from ${JSON.stringify(`file:///${drive}${join(root, 'dist/index.js')}`)};
       if (isMainThread) new Worker(new URL(import.meta.url));
       else console.log(process.execPath, (await copyTree('hosted', 'hosted copy')).files);`,
    );
    const host = at('another name.exe');
    const { exitCode, stdout, stderr } = await wine(host, ['host.mjs'], { cwd: work });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/another name\.exe 1\n$/);
    expectCopy(at('hosted'), at('hosted copy'));
  });

  test('the doctor', async () => {
    mkdirSync(at('patient'));
    const { exitCode, stdout, stderr } = await command('--doctor', '--json', 'patient');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const { directories } = JSON.parse(stdout);
    expect(directories[0].can).toMatchObject({ reflink: 'ENOTSUP' });
    expect(readdirSync(at('patient'))).toEqual([]);
  });
});
