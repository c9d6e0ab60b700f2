import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { globScope, judgeGlobs, parseGlobs } from '../../lib/selection/globs.js';
import { verdicts } from '../../lib/selection/verdict.js';
import { seed, size } from '../support/form.js';
import { needTool } from '../support/work.js';
import { gitEnvironment } from './support/git.js';
import { Random } from './support/random.js';

// What brackets mean in a glob: to us, to bash and to git, on random patterns and names.

const count = size(4_000, 20_000);

function pattern(random: Random): string {
  const letter = (): string => random.pick(['a', 'b', 'c', 'x', '-', '!', '^', '_', '1']);
  const item = (): string =>
    random.pick([
      letter,
      letter,
      () => random.pick(['a-c', 'b-x', '0-9', '!-a', 'x-a']),
      () => random.pick(['[:digit:]', '[:alpha:]', '[:punct:]', '[:upper:]', '[:alnum:]']),
      () => random.pick(['\\]', '\\a', '\\-', '\\\\']),
    ])();
  const brackets = (): string => {
    const items = Array.from({ length: 1 + random.below(3) }, item).join('');
    const sign = random.pick(['', '', '!', '^']);
    const inner = `${sign}${random.pick(['', '', ']', '-'])}${items}${random.pick(['', '', '-'])}`;
    return /^[!^]$/.test(inner) ? `[${inner}]]` : `[${inner}]`; // the first ']' does not close them
  };
  const part = (): string => random.pick([brackets, brackets, letter, () => '*', () => '?'])();
  return Array.from({ length: 1 + random.below(4) }, part).join('');
}

const name = (random: Random): string =>
  Array.from({ length: 1 + random.below(4) }, () =>
    random.pick(['a', 'b', 'c', 'x', 'A', '-', '!', '^', '_', '1', ']', '\\', '[']),
  ).join('');

const takes = (glob: string, text: string): boolean =>
  judgeGlobs(globScope(parseGlobs([glob], 'include'), []) ?? expect.fail(), text, false).verdict ===
  verdicts.take;

test(`${count} random patterns, seed ${seed}`, { timeout: 600_000 }, () => {
  const random = new Random(seed);
  const cases: { glob: string; text: string }[] = [];
  while (cases.length < count) {
    const [glob, text] = [pattern(random), name(random)];
    // A glob that begins so is refused, and one that is its own name matches that.
    if (glob.startsWith('!') || glob === text || /^\.+$/.test(text)) continue;
    // Not a range but to some: what stands between two of them, or beside a class or an escape.
    if (/\]-|\\.-|-\\|-\[|.-.-/.test(glob)) continue;
    // A range that runs backwards is empty; to git and us its first character matches.
    const ranges = [...glob.matchAll(/(?=(.)-([^\]]))/g)];
    if (ranges.some(([, from = '', to = '']) => from > to)) continue;
    cases.push({ glob, text });
  }
  const bash = execFileSync(
    'bash',
    ['-c', 'while IFS= read -r glob; do IFS= read -r name; [[ $name == $glob ]]; echo $?; done'],
    {
      input: cases.map(({ glob, text }) => `${glob}\n${text}\n`).join(''),
      env: { ...process.env, LC_ALL: 'C' },
      encoding: 'utf8',
    },
  )
    .trim()
    .split('\n');
  expect(bash).toHaveLength(count);
  expect(bash.filter((answer) => answer === '0').length).toBeGreaterThan(count / 20);
  const differing = cases.filter(({ glob, text }, i) => takes(glob, text) !== (bash[i] === '0'));
  expect(differing.slice(0, 10), `seed ${seed}`).toEqual([]);
});

test(`the same by git, seed ${seed}`, { timeout: 600_000 }, (context) => {
  needTool(context, 'git');
  const random = new Random(seed);
  const room = mkdtempSync(join(tmpdir(), 'fastcp-brackets-'));
  try {
    const env = { ...process.env, ...gitEnvironment };
    execFileSync('git', ['init', '-q', room], { env });
    for (let round = 0; round < 40; round++) {
      const glob = pattern(random);
      if (/^[!^\\]|\\$/.test(glob)) continue;
      const names = Array.from({ length: 40 }, () => name(random)).filter((text) => text !== glob);
      writeFileSync(join(room, '.gitignore'), `${glob}\n`);
      const { stdout } = spawnSync(
        'git',
        ['-C', room, 'check-ignore', '-z', '--stdin', '--no-index'],
        {
          input: names.map((text) => `${text}\0`).join(''),
          env,
          encoding: 'utf8',
        },
      );
      const ignored = new Set(stdout.split('\0'));
      for (const text of names) {
        expect({ glob, text, takes: takes(glob, text) }, `seed ${seed}`).toEqual({
          glob,
          text,
          takes: ignored.has(text),
        });
      }
    }
  } finally {
    rmSync(room, { recursive: true });
  }
});
