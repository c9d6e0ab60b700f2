import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import type { Random } from '../selection/support/random.js';
import { COMMAND } from '../support/child.js';
import { isLong, seed } from '../support/form.js';
import { removeTree, workDirectory } from '../support/work.js';
import { fuzz, several } from './support/fuzz.js';

// The command with any words: it never shows its insides, and ends with 0, 1 or 2; what it prints for programs
// is JSON, whatever the names are and however it ends.

const work = workDirectory('fuzz-command');
const cases = isLong ? 600 : 25;
let made = 0;

interface Outcome {
  status: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

/** Words are bytes, which a shell can pass on that are not UTF-8. */
function run(
  cwd: string,
  words: readonly string[],
  kill?: { by: 'SIGINT' | 'SIGTERM'; after: number },
) {
  const quote = (word: string): string =>
    `$'${[...Buffer.from(word, 'latin1')].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`;
  const line = ['exec', ...[process.execPath, COMMAND, ...words].map(quote)].join(' ');
  const child = spawn('bash', ['--norc', '-c', line], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  const outcome: Outcome = { status: null, signal: null, stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (piece: string) => {
      outcome[stream] += piece;
    });
  }
  if (kill) void sleep(kill.after).then(() => child.kill(kill.by));
  return new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve({ ...outcome, status, signal }));
  });
}

/** What is wrong with how it ended. */
function wrongEnd({ status, signal, stdout, stderr }: Outcome, words: readonly string[]) {
  const what = (why: string): string => `${why}: ${status ?? signal}\n${stdout}\n${stderr}`;
  if (![0, 1, 2].includes(status ?? -1)) return what('end');
  if (/^\s+at .*:\d+:\d+|node:internal/m.test(stderr + stdout)) return what('stack');
  const [first] = words;
  if (status === 2 && !stderr.startsWith('fastcp: ')) return what(`usage error of ${first}`);
  if (status === 1 && stdout + stderr === '') return what('no error');
  return undefined;
}

/** What is wrong with lines for programs; `whole`: the last has to be the result. */
function wrongLines(stdout: string, whole: boolean): string | undefined {
  if (stdout !== '' && !stdout.endsWith('\n')) return `half a line: ${stdout.slice(-200)}`;
  let last: unknown;
  for (const line of stdout.split('\n').slice(0, -1)) {
    try {
      last = JSON.parse(line);
    } catch (error) {
      return `${error}: ${line}`;
    }
  }
  const isResult = (last as { type?: string } | undefined)?.type === 'result';
  return whole && !isResult ? `no result: ${stdout.slice(-200)}` : undefined;
}

/** Nothing that leads out of the directory: some of what is tried removes. */
const paths = [
  'src',
  'src',
  'src',
  'dest',
  'dest',
  'src/',
  'dest/',
  './src',
  'missing',
  'dest/new/',
  '.',
];
const odd = ['', '-', '--', '---', '\xff\xfe', 'a\nb', '\x1b[31m', '"', "'", '*', '=', 'é'];
const values = [
  '0',
  '1',
  '-1',
  '1/2',
  '3/2',
  '0/0',
  'auto',
  'always',
  'never',
  'all',
  'mode,links',
  ',',
];
const options =
  `--gitignore --only-ignored --worktree --ignore-file-name --include --exclude -u --update --checksum --mirror
  --delete-excluded --shard -L --dereference -x --one-file-system --dry-run -p -a --archive --preserve
  --no-preserve --strict --sparse -f --force -n --skip-existing -n --error-on-exist --backup --parents
  --reflink --atomic --snapshot --hard-link --symbolic-link --fsync --verify -j --jobs --fail-fast --compare -v
  --verbose -q --quiet --json --progress --no-progress -V --version --doctor -h --help --help-all --nonsense`
    .split(/\s+/)
    .filter((option) => option !== '');

function randomWord(random: Random): string {
  const value = (): string => random.pick(random.chance(60) ? values : odd);
  const odds = random.below(100);
  if (odds < 35) return random.pick(paths);
  if (odds < 70) return random.pick(options);
  if (odds < 80) return `${random.pick(options)}=${value()}`;
  if (odds < 85) return `${random.pick(options).slice(0, -1 - random.below(3))}`;
  return value();
}

/** Whether --json is an option there, neither a path nor another's value, and a copy is asked for. */
function printsLines(words: readonly string[]): boolean {
  const at = words.indexOf('--json');
  const takesValue =
    /^(--(ignore-file|include|exclude|shard|preserve|sparse|backup|reflink|jobs)|-j)$/;
  if (at < 0 || words.slice(0, at).includes('--') || takesValue.test(words[at - 1] ?? ''))
    return false;
  return !words.some((word) =>
    /^(-h|-V.*|--help|--help-all|--version|--doctor|--compare)$/.test(word),
  );
}

test(`any words, seed ${seed}`, { timeout: 600_000 }, () =>
  fuzz(
    cases,
    (random) => several(random, 7, () => randomWord(random)),
    async (words) => {
      const cwd = join(work, `${made++}`, 'in');
      mkdirSync(join(cwd, 'src/directory'), { recursive: true });
      writeFileSync(join(cwd, 'src/directory/file'), 'content');
      const outcome = await run(cwd, words);
      removeTree(join(cwd, '..'));
      const wrong =
        printsLines(words) && outcome.status !== 2 ? wrongLines(outcome.stdout, true) : undefined;
      return wrong ?? wrongEnd(outcome, words);
    },
  ),
);

/** Of any bytes. */
function randomName(random: Random): string {
  const byte = (): string =>
    random.chance(50)
      ? random.pick(['"', '\\', '\n', '\x7f', '\u2028', '\xff', '\xed\xa0\x80', '}', ' '])
      : 'a';
  const name = several(random, 12, byte).join('').replaceAll('\u2028', '\xe2\x80\xa8');
  return name === '' ? 'b' : name;
}

test(`--json with names of any bytes, seed ${seed}`, { timeout: 600_000 }, () =>
  fuzz(
    cases,
    (random) => [
      ...several(random, 30, () => ({ name: randomName(random) })),
      {
        option: random.pick([
          '-v',
          '--dry-run',
          '--mirror',
          '--error-on-exist',
          '--compare',
          '--fail-fast',
        ]),
      },
      ...(random.chance(40)
        ? [{ by: random.pick(['SIGINT', 'SIGTERM'] as const), after: random.below(300) }]
        : []),
    ],
    async (parts) => {
      const cwd = join(work, `${made++}`);
      const at = (...names: string[]): Buffer =>
        Buffer.concat([Buffer.from(`${cwd}/`), Buffer.from(names.join('/'), 'latin1')]);
      mkdirSync(at('src'), { recursive: true });
      mkdirSync(at('dest'));
      for (const part of parts) {
        if (!('name' in part)) continue;
        writeFileSync(at('src', part.name), part.name);
        // In the way of every other one.
        if (part.name.length % 2) mkdirSync(at('dest', part.name, 'x'), { recursive: true });
      }
      const words = parts.flatMap((part) => ('option' in part ? [part.option] : []));
      const kill = parts.find((part) => 'by' in part);
      // A comparison refuses what means nothing to it.
      const usual = words.includes('--compare') ? ['--json'] : ['--json', '-v'];
      const outcome = await run(cwd, [...usual, ...words, 'src', 'dest'], kill as never);
      removeTree(cwd);
      const ended = outcome.signal === null;
      const known = ended && [0, 1, ...(kill ? [130, 143] : [])].includes(outcome.status ?? -1);
      const isKilled = kill !== undefined && outcome.signal !== null;
      if (!known && !isKilled) return `${outcome.status} ${outcome.signal} ${outcome.stderr}`;
      return wrongLines(outcome.stdout, ended && !words.includes('--compare'));
    },
  ),
);
