import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { globScope, judgeGlobs, parseGlobs } from '../../lib/selection/globs.js';
import { lastMatch, parseRules, rulesBelow, rulesIn } from '../../lib/selection/rules.js';
import { verdicts } from '../../lib/selection/verdict.js';
import { Random } from '../selection/support/random.js';
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

const words = ['', 'a', 'b', '.'];
for (let at = 1; words.length < 121; at++)
  words.push(...['a', 'b', '.'].map((one) => words[at] + one));
const names = words.filter((word) => !/^\.{0,2}$/.test(word));

interface Meaning {
  glob: string;
  /** Those of `words` that it matches. */
  words: Set<string>;
}

const behind = (one: Set<string>, other: Set<string>): Set<string> =>
  new Set([...one].flatMap((a) => [...other].map((b) => a + b)).filter((word) => word.length <= 4));

/** A glob with groups inside each other, and what it means by definition. */
function groups(random: Random, depth = 0): Meaning {
  let all: Meaning = { glob: '', words: new Set(['']) };
  for (const part of several(random, 4, () => random.below(depth < 3 ? 10 : 5))) {
    const { glob, words: more } = part < 5 ? single(random) : repeated(random, depth);
    // A star or question mark in front would make a parenthesis another group.
    if (/[*?]$/.test(all.glob) && glob.startsWith('(')) continue;
    all = { glob: all.glob + glob, words: behind(all.words, more) };
  }
  return all;
}

function single(random: Random): Meaning {
  const of = (glob: string, ...found: string[]): Meaning => ({ glob, words: new Set(found) });
  return random.pick([
    of('a', 'a'),
    of('b', 'b'),
    of('.', '.'),
    of('\\a', 'a'),
    of('?', 'a', 'b', '.'),
    of('[ab]', 'a', 'b'),
    of('[!a]', 'b', '.'),
    of('*', ...words),
  ]);
}

function repeated(random: Random, depth: number): Meaning {
  const alternatives = [groups(random, depth + 1), groups(random, depth + 1)];
  const once = new Set(alternatives.flatMap((one) => [...one.words]));
  let [kind, separator, end] = [random.pick(['@(', '?(', '*(', '+(', '!(', '{', '(']), '|', ')'];
  if (kind === '{') [separator, end] = [',', '}'];
  const glob = kind + alternatives.map((one) => one.glob).join(separator) + end;
  if (kind === '!(') return { glob, words: new Set(words.filter((word) => !once.has(word))) };
  if (kind === '?(') return { glob, words: once.add('') };
  if (kind !== '*(' && kind !== '+(') return { glob, words: once };
  let reached = once;
  for (let size = -1; size !== reached.size; ) {
    size = reached.size;
    reached = new Set([...reached, ...behind(reached, once)]);
  }
  return { glob, words: kind === '*(' ? reached.add('') : reached };
}

test(`groups match what they mean, seed ${seed}`, { timeout: 600_000 }, () => {
  const random = new Random(seed);
  for (let round = 0; round < times(500); round++) {
    const { glob, words: matching } = groups(random);
    if (glob === '' || /^(\**|!(?!\().*|\.*)$/.test(glob)) continue;
    const differ = names.filter(
      (name) => name !== glob && takes(glob, name) !== matching.has(name),
    );
    expect(differ, `${glob}, seed ${seed}`).toEqual([]);
  }
});

test.each([
  ['{1..3}', '1 2 3', '0 4 13 1.3'],
  ['{08..10}', '08 09 10', '8 9 010'],
  ['{-1..1}', '-1 0 1', '-2 2 -0'],
  ['{b..d}', 'b c d', 'a e bc'],
  ['{d..b}', 'b c d', 'a'],
  ['{1..10..4}', '1 5 9', '2 10 13'],
  ['{g..a..-3}', 'g d a', 'b f'],
  ['{1..3..0}', '1 2 3', '0 4'],
  ['x{,y}', 'x xy', 'y xyy'],
  ['x{a|b,c}', 'xa|b xc', 'xa xb'],
  ['@(a,b|c)', 'a,b c', 'a b'],
  ['*.{js,@(ts|mts)}', 'a.js a.ts .mts', 'a.jsx a'],
  ['{a}', '{a}', 'a'],
  ['a)b}|', 'a)b}|', 'ab'],
  ['(a)*', '(a) (a)b', 'a ab'],
  ['(a|b)*', 'a ab bc', '(a c'],
  ['{a\\,b,c}', 'a,b c', 'a b'],
  ['\\@(a|b)', '@a @b', 'a @(a|b'],
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
test.each([
  `${'*a'.repeat(40)}*b`,
  '*(a*)b',
  '+(+(+(a)))b',
  '*(a|aa|?a|a?)b',
  `${'!(x)'.repeat(20)}b`,
  '!(!(!(!(*a*)b)c)d)e',
  `${'@(*|+(a*))'.repeat(8)}b`,
  `${'*(+(*a*)+(*a*))'.repeat(3)}b`,
  `${'*({1..1000})'.repeat(10)}b`,
  `${'*({1..1000}{1..1000}{1..1000}{1..1000})'.repeat(5)}b`,
])('a long name takes no time: %s', (glob) => {
  const scope = globScope(undefined, parseGlobs([glob], 'exclude')) ?? expect.fail();
  const took = least(3, 1, () => {
    judgeGlobs(scope, longName, false);
    judgeGlobs(scope, '1'.repeat(255), false);
  });
  console.log(`fuzz: ${(took / 1000).toFixed(1)} ms, ${glob}`);
  expect(took).toBeLessThan(500_000);
});
