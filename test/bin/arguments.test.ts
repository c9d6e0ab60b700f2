import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { globOf, isText, pathOf } from '../../bin/arguments.js';
import { COMMAND } from '../support/child.js';
import { seed } from '../support/form.js';
import { needToolHere, workDirectory } from '../support/work.js';

// Names that are not UTF-8 on the command line.

const work = workDirectory('arguments');
let at: Buffer;
let number = 0;
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const below = (name: string): Buffer => Buffer.concat([at, latin1(`/${name}`)]);

beforeEach(() => {
  at = Buffer.from(join(work, `${number++}`));
  mkdirSync(at);
});

// Node's own spawn() takes no bytes.
const launcher = `
import os, sys
words = [bytes.fromhex(word) for word in sys.stdin.read().split(',')]
os.chdir(words[0])
os.execv(words[1], words[1:])
`;

/** Words hold a byte per character. `node`: options of Node itself. */
function fastcp(words: string[], { node = [] as string[], cwd = at } = {}) {
  needToolHere('python3');
  const all = [cwd, ...[process.execPath, ...node, COMMAND, ...words].map(latin1)];
  const { status, stdout, stderr } = spawnSync('python3', ['-c', launcher], {
    input: all.map((word) => word.toString('hex')).join(),
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const done = { status: 0, stdout: '', stderr: '' };

describe.runIf(process.platform === 'linux')('on Linux', () => {
  test('SRC and DEST', () => {
    writeFileSync(below('one \xff'), 'content');
    expect(fastcp(['-q', 'one \xff', 'two \xfe\xc3'])).toEqual(done);
    expect(readFileSync(below('two \xfe\xc3'), 'latin1')).toBe('content');
    mkdirSync(below('into \x80'));
    expect(fastcp(['-q', 'one \xff', 'two \xfe\xc3', 'into \x80/'])).toEqual(done);
    expect(readdirSync(below('into \x80'), 'latin1').sort()).toEqual(['one \xff', 'two \xfe\xc3']);
  });

  test('behind options, after -- and with options of Node', () => {
    writeFileSync(below('-\xff'), 'content');
    const node = ['--no-warnings', '--max-old-space-size=512'];
    expect(fastcp(['--jobs', '2', '-q', '--', '-\xff', ''.padEnd(200, '\xe9')], { node })).toEqual(
      done,
    );
    expect(existsSync(below(''.padEnd(200, '\xe9')))).toBe(true);
  });

  test('globs', () => {
    mkdirSync(below('src'));
    for (const name of ['a\xff', 'b\xff', '\xc3\xa9', 'c']) writeFileSync(below(`src/${name}`), '');
    expect(fastcp(['-q', '--exclude', 'a\xff', '--exclude=\xc3\xa9', 'src', 'dest'])).toEqual(done);
    expect(readdirSync(below('dest'), 'latin1').sort()).toEqual(['b\xff', 'c']);
  });

  test('a command line longer than a page', () => {
    const names = Array.from({ length: 300 }, (_, i) => `${i} \xff ${'n'.repeat(100)}`);
    for (const name of names) writeFileSync(below(name), '');
    expect(fastcp(['-q', ...names, 'into/\x80/'])).toEqual(done);
    expect(readdirSync(below('into/\x80'), 'latin1').sort()).toEqual(names.sort());
  });

  test('a working directory of such a name', () => {
    mkdirSync(below('here \xff'));
    writeFileSync(below('here \xff/file'), 'content');
    expect(fastcp(['-q', 'file', 'copy'], { cwd: below('here \xff') })).toEqual(done);
    expect(readdirSync(below('here \xff')).sort()).toEqual(['copy', 'file']);
  });

  test('what is said of them', () => {
    const missing = fastcp(['-q', 'no \xff', 'dest']);
    expect(missing.status).toBe(1);
    expect(missing.stderr).toContain("cannot copy 'no \ufffd': no such file or directory");
    expect(fastcp(['--ignore-file-name', '\xff', 'a', 'b'])).toMatchObject({ status: 2 });
    expect(fastcp(['--doctor', '\xff']).stderr).toContain('DIR must be a path in UTF-8');
    // The character that Node puts in the place of bytes is one that names may have.
    writeFileSync(below('\xef\xbf\xbd'), '');
    expect(fastcp(['-q', '\xef\xbf\xbd', 'dest'])).toEqual(done);
  });

  test('where the system does not tell the bytes', () => {
    // Node's own option writes over what /proc has.
    const { status, stderr } = fastcp(['-q', 'a\xff', 'dest'], { node: ['--title=other'] });
    expect(status).toBe(1);
    expect(stderr).toContain("'a\ufffd' is not valid UTF-8");
  });
});

test('random words', () => {
  needToolHere('python3');
  const random = `
import random, sys
random.seed(${seed})
odd = [0x41, 0x2f, 0x80, 0xbf, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf0, 0x9f, 0x98, 0x80, 0xff]
for i in range(2000): print(bytes(random.choice(odd) for _ in range(random.randint(1, 12))).hex())
`;
  const words = execFileSync('python3', ['-c', random], { encoding: 'utf8' }).trim().split('\n');
  writeFileSync(
    below('print.mjs'),
    `import { pathOf, readArguments } from ${JSON.stringify(join(import.meta.dirname, '../../bin/arguments.ts'))};
     console.log(readArguments().map((word) => Buffer.from(pathOf(word)).toString('hex')).join());`,
  );
  const bundle = below('print.cjs');
  execFileSync('npx', [
    'esbuild',
    '--bundle',
    '--platform=node',
    below('print.mjs').toString(),
    `--outfile=${bundle}`,
    '--log-level=error',
  ]);
  const all = [
    at,
    latin1(process.execPath),
    bundle,
    ...words.map((word) => Buffer.from(word, 'hex')),
  ];
  const { stdout, stderr } = spawnSync('python3', ['-c', launcher], {
    input: all.map((word) => word.toString('hex')).join(),
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(stdout.trim().split(','), `seed ${seed}`).toEqual(words);
});

test('what a word is', () => {
  expect(pathOf('é')).toBe('é');
  expect(pathOf('a\udcff€')).toEqual(Buffer.from([0x61, 0xff, 0xe2, 0x82, 0xac]));
  expect(globOf('é/\udcff*')).toBe('é/\xff*');
  expect([isText('😀'), isText('\udc80')]).toEqual([true, false]);
});
