import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkRequest } from '../../lib/request/options.js';
import { globScope, judgeGlobs, parseGlobs } from '../../lib/selection/globs.js';
import { verdicts } from '../../lib/selection/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { makeFiles } from '../support/trees.js';
import { filesTaken, walk } from './support/walk.js';

let src = '';
beforeAll(() => {
  src = mkdtempSync(join(tmpdir(), 'fastcp-globs-'));
  makeFiles(src, {
    'a.ts': '',
    'a.map': '',
    '.env': '',
    'src/b.ts': '',
    'src/b.map': '',
    'src/deep/.c/c.ts': '',
    'src/deep/d.js': '',
    'test/e.ts': '',
    'test/[id].ts': '',
    'empty/f': '',
    'é/x': '',
  });
});
afterAll(() => rmSync(src, { recursive: true, force: true }));

type Globs = Pick<CopyOptions, 'include' | 'exclude'>;

const everything = [
  '.env',
  'a.map',
  'a.ts',
  'empty/f',
  'src/b.map',
  'src/b.ts',
  'src/deep/.c/c.ts',
];
everything.push('src/deep/d.js', 'test/[id].ts', 'test/e.ts', 'Ã©/x');

describe('what is taken', () => {
  test.each<[include: string[] | undefined, exclude: string[], taken: string[]]>([
    // a glob without a slash matches a name at any depth, one with a slash is relative to SRC
    [['*.ts'], [], ['a.ts', 'src/b.ts', 'src/deep/.c/c.ts', 'test/[id].ts', 'test/e.ts']],
    [['b.ts'], [], ['src/b.ts']],
    [['deep'], [], ['src/deep/.c/c.ts', 'src/deep/d.js']],
    [['deep/'], [], ['src/deep/.c/c.ts', 'src/deep/d.js']],
    [['/deep', 'deep/d.js'], [], []],
    [['/*.ts'], [], ['a.ts']],
    [['./*.ts'], [], ['a.ts']],
    [['src'], ['deep', '*.map'], ['src/b.ts']],
    [['***/b.ts', '*[a](x)', '{[a][b]}'], [], ['src/b.ts']],
    [['**/*.ts'], [], ['a.ts', 'src/b.ts', 'src/deep/.c/c.ts', 'test/[id].ts', 'test/e.ts']],
    [['src/*.ts'], [], ['src/b.ts']],
    [['./src/*.ts'], [], ['src/b.ts']],
    [['src//*.ts'], [], ['src/b.ts']],
    [['/.*'], [], ['.env']],
    [['*'], [], everything],
    [['**'], [], everything],
    // a glob that names a directory names all that is in it
    [['test'], [], ['test/[id].ts', 'test/e.ts']],
    [['test/'], [], ['test/[id].ts', 'test/e.ts']],
    [['a.ts/'], [], []],
    [['test/**'], [], ['test/[id].ts', 'test/e.ts']],
    [['**/deep/**'], [], ['src/deep/.c/c.ts', 'src/deep/d.js']],
    [['src/**/c.ts'], [], ['src/deep/.c/c.ts']],
    [['**/.c'], [], ['src/deep/.c/c.ts']],
    [['{a,e}.ts', 'test/{e,x}.ts'], [], ['a.ts', 'test/e.ts']],
    [['{src/b,test/e}.ts'], [], ['src/b.ts', 'test/e.ts']],
    [['{src/{b,x},test/e}.{ts,map}'], [], ['src/b.map', 'src/b.ts', 'test/e.ts']],
    [['/[ab].ts'], [], ['a.ts']],
    [['/[!ab].ts', 'test/[!ab].ts'], [], ['test/e.ts']],
    [['/[^ab].ts', 'test/[^ab].ts'], [], ['test/e.ts']],
    [['/{[!b],x}.ts'], [], ['a.ts']],
    [['/[[:alpha:]].m[]a]p', 'src/[a-c].[!]m]s'], [], ['a.map', 'src/b.ts']],
    [['/[!x-z]'], [], ['Ã©/x']],
    [['[à-ï]'], [], ['Ã©/x']],
    [['/{a}.ts', '/{a,b'], [], []],
    [['/{a,{a.m,x}}{p,ap}'], [], ['a.map']],
    [['test/[id].ts'], [], ['test/[id].ts']],
    [['test/\\[id\\].ts'], [], ['test/[id].ts']],
    [['/?'], [], ['Ã©/x']],
    // exclude wins
    [['**/*.ts'], ['src'], ['a.ts', 'test/[id].ts', 'test/e.ts']],
    [['src'], ['src/deep/*.js'], ['src/b.map', 'src/b.ts', 'src/deep/.c/c.ts']],
    [['src'], ['**'], []],
    [[], [], []],
    [undefined, ['src', '*'], []],
    [undefined, ['**/*.{ts,map}', 'empty', 'é'], ['.env', 'src/deep/d.js']],
    [undefined, ['a.ts/', 'src/', 'é/', 'test/', 'empty'], ['.env', 'a.map', 'a.ts']],
    [undefined, ['nothing'], everything],
  ])('include %j, exclude %j', async (include, exclude, taken) => {
    expect(await filesTaken(src, { ...(include && { include }), exclude })).toEqual(taken);
  });
});

test('no globs: nothing to ask', async () => {
  expect((await walk(src, { exclude: [] })).selection).toBeUndefined();
});

test('parents of what is included come along, directories with nothing taken do not', async () => {
  const { taken } = await walk(src, { include: ['**/c.ts', 'emp*/g'] });
  expect(taken).toEqual(['src/', 'src/deep/', 'src/deep/.c/', 'src/deep/.c/c.ts']);
});

test('why something is left out', async () => {
  const { left } = await walk(src, { include: ['/*.*'], exclude: ['**/*.map'] });
  expect(left.get('a.map')).toBe('exclude: **/*.map');
  expect(left.get('test')).toBe('include: no glob matches');
});

describe('what is asked', () => {
  function judge({ include, exclude }: Partial<Globs>, path: string): number {
    let scope = globScope(
      include === undefined ? undefined : parseGlobs(include, 'options.include'),
      parseGlobs(exclude ?? [], 'options.exclude'),
    );
    let verdict: number = verdicts.takeAll;
    for (const name of path.split('/')) {
      if (!scope) throw new Error(`${name} is not asked about`);
      const answer = judgeGlobs(scope, name, true);
      verdict = answer.verdict;
      scope = answer.below;
    }
    return verdict;
  }

  const { leave, look, take, takeAll } = verdicts;
  test.each<[globs: Partial<Globs>, directory: string, verdict: number]>([
    // A directory is not in itself, as for git.
    [{ include: ['a/**'] }, 'a', look],
    [{ include: ['a/**'] }, 'a/b', takeAll],
    [{ exclude: ['a/**'] }, 'a', take],
    [{ exclude: ['a/**'] }, 'a/b', leave],
    [{ exclude: ['/a/**/'] }, 'a', take],
    [{ exclude: ['**'] }, 'a', leave],
    [{ include: ['a/**'] }, 'b', leave],
    [{ include: ['a/*.ts'] }, 'a', look],
    [{ include: ['a/*.ts'] }, 'a/b', leave],
    [{ include: ['*/b/*.ts'] }, 'a/b', look],
    [{ include: ['*/b/*.ts'] }, 'a/c', leave],
    [{ include: ['**/x'] }, 'a/b/c', look],
    [{ include: ['a/**/x'] }, 'b', leave],
    [{ include: ['a'], exclude: ['a/b'] }, 'a', take],
    [{ include: ['a'], exclude: ['b/c'] }, 'a', takeAll],
    [{ exclude: ['a/b'] }, 'c', takeAll],
    [{ exclude: ['a/b'] }, 'a', take],
    [{ exclude: ['a/b'] }, 'a/b', leave],
    [{ exclude: ['a/b/c'] }, 'a/d', takeAll],
    [{ exclude: ['**/x'] }, 'a', take],
  ])('%j %s', (globs, directory, verdict) => {
    expect(judge(globs, directory)).toBe(verdict);
  });
});

describe('globs that are none', () => {
  test.each([
    ['a[b', /its brackets closed/],
    ['*.!(ts)', /groups and ranges: .*backslash.*'\{a,b\}'.*exclude/],
    ['+(d|e)', /groups and ranges/],
    ['*(x).c', /groups and ranges/],
    ['?(x).c', /groups and ranges/],
    ['@(a/b)', /groups and ranges/],
    ['*.(map|x)', /groups and ranges/],
    ['{@,x}(a)', /groups and ranges/],
    ['{1..9}.c', /groups and ranges/],
    ['{!a,b}', /does not begin with '!'/],
    ['', /not empty/],
    ['./', /not empty/],
    ['/', /not empty/],
    ['../a', /without '\.' and '\.\.'/],
    ['!a', /does not begin with '!'/],
    ['[[:letter:]]', /with known classes/],
    ['a\\', /no backslash at its end/],
    ['{a/,b}'.repeat(10), /at most 1000 paths/],
    [`{${','.repeat(200_000)}}`, /at most 1000 paths/],
  ])('%j', async (glob, message) => {
    const failed = walk(src, { exclude: ['ok', glob] });
    await expect(failed).rejects.toBeInstanceOf(TypeError);
    await expect(failed).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringMatching(message),
    });
    const place = `The "options.exclude[1]" property must be a glob`;
    await expect(failed).rejects.toThrow(place);
    await expect(failed).rejects.toThrow(`Received '${glob}'`);
  });

  test.each<[string, string, string, string | undefined]>([
    ['/a/src', '/a/dest', '/a/src', '/a/src'],
    ['/a/src/', '/a/dest', '/a/src/cache', '/a/src/cache'],
    ['/a/src', '/a/dest/', '/a/dest/cache', '/a/dest/cache'],
    ['/a/src', '/a/dest', '/a/srcs', undefined],
    ['/a', '/b', '/a/cache', undefined],
    ['/', '/b/c', '/usr', undefined],
    ['/', '/b/c', '/b/c', undefined],
  ])('%s to %s: a glob with a whole path: %s', (from, dest, glob, refused) => {
    for (const option of ['include', 'exclude'] as const) {
      for (const globs of [glob, ['ok', glob]]) {
        const check = () => checkRequest(from, dest, { [option]: globs });
        if (refused === undefined) check();
        else
          expect(check).toThrow(
            `must be a glob relative to SRC, as '/cache'. Received '${refused}'`,
          );
      }
    }
  });

  test.each([[1], [null], ['**/x' as unknown]])('of another type: %j', async (value) => {
    const include = (typeof value === 'string' ? value : [value]) as string[];
    await expect(walk(src, { include })).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  });
});

test('many double stars and a deep path take no time', () => {
  const scope = globScope(parseGlobs([`${'**/a/'.repeat(20)}x`], 'options.include'), []);
  const began = performance.now();
  let here = scope;
  for (let depth = 0; depth < 1000 && here; depth++) here = judgeGlobs(here, 'a', true).below;
  expect(here).toBeDefined();
  expect(performance.now() - began).toBeLessThan(500);
});

test('a line break is a byte like others', async () => {
  const directory = mkdtempSync(join(src, 'lines'));
  writeFileSync(join(directory, '\na'), '');
  for (const glob of ['*', '?a', '*a', '{*,b}']) {
    expect(await filesTaken(directory, { exclude: [glob] })).toEqual([]);
  }
});

test('names that are not UTF-8 are matched a byte at a time', async () => {
  const directory = mkdtempSync(join(src, 'bytes'));
  writeFileSync(Buffer.from(`${directory}/a\xff`, 'latin1'), '');
  expect(await filesTaken(directory, { include: ['a?'] })).toEqual(['a\xff']);
  expect(await filesTaken(directory, { exclude: ['a?'] })).toEqual([]);
});
