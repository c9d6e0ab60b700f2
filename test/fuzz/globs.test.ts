import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { globScope, judgeGlobs, parseGlobs } from '../../lib/selection/globs.js';
import { lastMatch, parseRules, rulesBelow, rulesIn } from '../../lib/selection/rules.js';
import { verdicts } from '../../lib/selection/verdict.js';
import type { Random } from '../selection/support/random.js';
import { isLong, seed } from '../support/form.js';
import { fuzz, several, times } from './support/fuzz.js';

// Globs and rule files with anything in them: no error but a refusal by name, and never much time.

const picomatch = createRequire(import.meta.url)('picomatch/posix.js') as {
  makeRe(glob: string, options: object): RegExp;
};

const takes = (glob: string, name: string): boolean =>
  judgeGlobs(globScope(parseGlobs([glob], 'include'), []) ?? expect.fail(), name, false).verdict ===
  verdicts.take;

test(`stars match what picomatch says, seed ${seed}`, { timeout: 600_000 }, () =>
  fuzz(
    times(5_000),
    (random) => {
      // No stars side by side, nor what could be the sign of a group: picomatch has bugs there.
      const letter = (): string => random.pick(['a', 'a', 'b', '.', '-', 'é', '\n']);
      const wild = (): string => random.pick(['*', '?', '**']) + letter();
      const glob = several(random, 8, () => (random.chance(40) ? wild() : letter()));
      return [glob.join(''), several(random, 10, letter).join('')];
    },
    ([glob = '', name = '']) => {
      if (glob === '' || name === '' || /^\.+$/.test(name) || glob === '**') return undefined;
      if (/^\.\.?$/.test(glob)) return undefined;
      const theirs = name === glob || picomatch.makeRe(glob, { dot: true, flags: 's' }).test(name);
      return takes(glob, name) === theirs ? undefined : `${glob} ${name}: picomatch says ${theirs}`;
    },
  ),
);

test.each([
  ['x{,y}', 'x xy', 'y xyy'],
  ['x{a|b,c}', 'xa|b xc', 'xa xb'],
  ['*.{js,{,m}ts}', 'a.js a.ts .mts', 'a.jsx a'],
  ['{a}', '{a}', 'a'],
  ['a)b}|', 'a)b}|', 'ab'],
  ['(a)*', '(a) (a)b', 'a ab'],
  ['{a\\,b,c}', 'a,b c', 'a b'],
  ['\\@\\(a|b)', '@(a|b)', 'a @a'],
])('braces and parentheses as bash expands them: %s', (glob, matching, others) => {
  for (const name of matching.split(' ')) expect([name, takes(glob, name)]).toEqual([name, true]);
  for (const name of others.split(' ')) expect([name, takes(glob, name)]).toEqual([name, false]);
});

/** What somebody who wants to take time would write. */
function nasty(random: Random): string {
  const odd = [
    '*',
    '**',
    '?',
    '[',
    ']',
    '[a-z]',
    '{',
    ',',
    '}',
    '..',
    '{1..999}',
    '1',
    '{a,a',
    '(',
    ')',
    '@(',
    '+(',
    '*(',
    '!(',
  ];
  const more = [
    '|',
    '\\',
    '/',
    '!',
    '^',
    '$',
    '.',
    '#',
    ' ',
    '\0',
    '\r',
    '\xff',
    '[[:alpha:]]',
    '[!',
  ];
  return random.chance(50) ? 'a' : random.pick([...odd, ...more]);
}

const longName = 'a'.repeat(255);
const longPath = Array.from({ length: 16 }, () => longName);

test(`globs of anything, seed ${seed}`, { timeout: 600_000 }, () =>
  fuzz(
    times(1_000),
    (random) => several(random, 60, () => nasty(random)),
    (parts) => {
      const began = performance.now();
      try {
        let scope = globScope(undefined, parseGlobs([parts.join('')], 'exclude'));
        for (const name of longPath) scope = scope && judgeGlobs(scope, name, true).below;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== 'ERR_INVALID_ARG_VALUE' || !message.includes('exclude[0]')) return error;
      }
      const took = performance.now() - began;
      return took < 1000 ? undefined : `${took} ms`;
    },
  ),
);

test(`rule files of anything, seed ${seed}`, { timeout: 600_000 }, () =>
  fuzz(
    times(1_000),
    (random) => several(random, 200, () => (random.chance(5) ? '\n' : nasty(random))),
    (parts) => {
      const began = performance.now();
      const content = Buffer.from(parts.join(''), 'latin1');
      let here = rulesIn(
        parseRules(content, { shown: 'rules', own: false, fold: parts.length % 2 > 0 }),
      );
      for (const name of longPath) {
        lastMatch(here, name, true);
        here = rulesBelow(here, name);
      }
      const took = performance.now() - began;
      return took < 1000 ? undefined : `${took} ms`;
    },
  ),
);

/** The least of some rounds, in µs: others use the machine, too. */
function least(rounds: number, count: number, work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    work();
    best = Math.min(best, ((performance.now() - began) * 1000) / count);
  }
  return best;
}

const someNames = Array.from(
  { length: 500 },
  (_, i) => `${'component-'.repeat(i % 5)}${i}.test.js`,
);

test('a simple rule takes at most 2 µs a path', () => {
  const lines = [
    '*.log',
    'node_modules/',
    '/build',
    'a/b/c',
    'src/**/*.map',
    '*.test.?s',
    '[Bb]in/',
  ];
  const content = Buffer.from(lines.join('\n'));
  let here = rulesIn(parseRules(content, { shown: 'rules', own: false, fold: false }));
  for (const name of ['src', 'some', 'directory']) here = rulesBelow(here, name);
  const took = least(isLong ? 50 : 20, someNames.length * lines.length, () => {
    for (const name of someNames) lastMatch(here, name, false);
  });
  console.log(`fuzz: ${took.toFixed(3)} µs a rule and path`);
  expect(took).toBeLessThan(2);
});

test.each(['*.map', '*test*', 'component-?*', `${'*a'.repeat(20)}*`, '*.{js,ts}'])(
  'a simple glob takes at most 2 µs a path: %s',
  (glob) => {
    const scope = globScope(undefined, parseGlobs([glob], 'exclude')) ?? expect.fail();
    const took = least(isLong ? 50 : 20, someNames.length, () => {
      for (const name of someNames) judgeGlobs(scope, name, false);
    });
    expect(took).toBeLessThan(2);
  },
);

// A matcher that tries all combinations would not end with these in the time of the universe.
test.each([`${'*a'.repeat(40)}*b`, `${'{*a,*b}'.repeat(9)}*c`])(
  'a long name takes no time: %s',
  (glob) => {
    const scope = globScope(undefined, parseGlobs([glob], 'exclude')) ?? expect.fail();
    const took = least(3, 1, () => {
      judgeGlobs(scope, longName, false);
      judgeGlobs(scope, '1'.repeat(255), false);
    });
    console.log(`fuzz: ${(took / 1000).toFixed(1)} ms, ${glob}`);
    expect(took).toBeLessThan(500_000);
  },
);
