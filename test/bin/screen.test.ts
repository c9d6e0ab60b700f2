import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { hasTool } from '../support/work.js';
import { FASTCP } from './support/fastcp.js';
import { Screen } from './support/screen.js';
import { makeLargeTree, makeTree, temporaryDirectory } from './support/trees.js';

// What a person sees: the screen of a terminal, while a tree is copied and afterwards.

const counted = '[\\d,]+/120,405 entries';
const bar = new RegExp(`^\\[=*-+\\] {2,}\\d+% {2} *${counted}`);
const summary = /^Copied 120,000 files, 405 directories, .* in [\d.]+ m?s(?:[ :$]|$)/;

describe.skipIf(!hasTool('tmux'))('the screen', () => {
  const cwd = temporaryDirectory();
  for (const name of ['a', 'b', 'c', 'd']) makeLargeTree(join(cwd, 'src', name));
  makeTree(cwd, { 'conflict/a/directory-70': 'in the way' });
  let count = 0;

  /** A shell that has begun a copy of a second or more, after a line that must stay. */
  function begin(columns: number, options = '', env: NodeJS.ProcessEnv = {}, end = ''): Screen {
    const screen = new Screen(columns, 24, cwd, { NODE: process.execPath, FASTCP, ...env });
    screen.type(`clear; echo kept; "$NODE" "$FASTCP" -j1 ${options} src copy${count++}${end}`);
    screen.press('Enter');
    return screen;
  }

  const [size, left] = ['[\\d.]+ .?B', '( +\\d:\\d\\d left)?$'];
  test.each([
    [80, `${bar.source} +${size} +${size}/s${left}`],
    [200, `${bar.source} +${size} +${size}/s +[\\d,]+ files/s +\\d:\\d\\d elapsed${left}`],
    [40, `^ *\\d+% {2} *${counted}`],
  ])('at %d columns', async (columns, line) => {
    const screen = begin(columns);
    const [before, during, ...below] = await screen.until(/ \d+% /);
    expect(before).toBe('kept');
    expect(during).toMatch(new RegExp(line));
    expect(during?.length).toBeLessThan(columns - 1);
    expect(below).toEqual([]);

    const [kept, ...after] = await screen.until(/^\$/);
    expect(kept).toBe('kept');
    expect(after.join('')).toMatch(summary);
    expect(after.join('')).not.toContain('entries');
  });

  // Tried again, because a line that is drawn at the very moment of the change is wrapped by the terminal, and nobody learns of it.
  test('made narrower and wider again, nothing of the bar is left', { retry: 2 }, async () => {
    const screen = begin(120);
    await screen.until(bar);
    // Two rows of the line as it was: tmux moves a third one into its history, where nobody can clear it.
    screen.resize(60, 24);
    await setTimeout(300);
    expect(screen.lines().filter((line) => line.includes('entries'))).toHaveLength(1);
    screen.resize(200, 24);
    const lines = await screen.until(/^\$/);
    expect(lines).toEqual(['kept', expect.stringMatching(summary), '$']);
  });

  test('Ctrl-C leaves one line', async () => {
    const screen = begin(80);
    await screen.until(bar);
    screen.press('C-c');
    const lines = await screen.until(/^\$/);
    expect(lines).toEqual([
      'kept',
      expect.stringMatching(/^fastcp: interrupted: [\d,]+ files copied, copy\d may be incomplete$/),
      '$',
    ]);
  });

  test('an error stands above the bar', async () => {
    const screen = begin(120, '', {}, '; cp -r conflict/. new; "$NODE" "$FASTCP" -j1 src new');
    await screen.until(summary);
    const during = await screen.until(/^fastcp: .*directory-70/);
    expect(during.filter((line) => line.includes('entries')).length).toBeLessThanOrEqual(1);
    const lines = await screen.until(/; 1 error/);
    expect(lines.filter((line) => line.includes('entries'))).toEqual([]);
  });

  test.each<[string, string, NodeJS.ProcessEnv, string]>([
    ['in CI', '', { CI: 'true' }, ''],
    ['in a pipe, errors too', '', {}, ' 2>&1 | cat'],
    ['with --quiet', '-q', {}, ''],
  ])('no bar %s', async (_name, options, env, end) => {
    const screen = begin(80, options, env, end);
    let seen: string[] = [];
    while (!seen.some((line) => line.startsWith('$'))) {
      await setTimeout(20);
      seen = screen.lines();
      expect(seen.filter((line) => line.includes('entries'))).toEqual([]);
    }
    const printed = seen.slice(1, -1).join('');
    if (options === '-q') expect(printed).toBe('');
    else expect(printed).toMatch(summary);
  });

  test('a bar where only the summary goes to a pipe, and with NO_COLOR', async () => {
    const screen = begin(80, '', { NO_COLOR: '1' }, ' | cat');
    await screen.until(bar);
    const lines = await screen.until(/^\$/);
    expect(lines[0]).toBe('kept');
    expect(lines.slice(1, -1).join('')).toMatch(summary);
  });
});
