import { CommanderError } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { parseArgs } from '../../bench/args.js';
import { latest } from '../../bench/paths.js';

afterEach(() => vi.restoreAllMocks());

describe('where results go', () => {
  test.each([
    ['', latest],
    ['--only corpus', latest],
    ['--only corpus --only cpz', undefined],
    ['--quick', undefined],
    ['--quick --output a.json', 'a.json'],
  ])('%s', (line, output) => {
    expect(parseArgs(words(line)).output).toBe(output);
  });
});

describe('wrong usage names what is wrong', () => {
  test.each([
    ['--only nothing', "'--only <pattern>': 'nothing'"],
    ['--only corpus --only cpy', "'--only <pattern>'"],
    ['--rounds 0', "'--rounds <n>' argument '0'"],
    ['--rounds 1.5', "'--rounds <n>' argument '1.5'"],
    ['--rounds', "'--rounds <n>'"],
    ['--output=', "'--output <file>'"],
    ['--nope', "'--nope'"],
    ['corpus', 'arguments'],
  ])('%s', (line, complaint) => {
    const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const error = thrownBy(() => parseArgs(words(line)));
    expect(error).toBeInstanceOf(CommanderError);
    expect(error).toMatchObject({ exitCode: 2 });
    expect(printed.mock.calls.join('')).toContain(complaint);
  });
});

test('help is no error', () => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  expect(thrownBy(() => parseArgs(['--help']))).toMatchObject({ exitCode: 0 });
});

const words = (line: string): string[] => line.split(' ').filter(Boolean);

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
