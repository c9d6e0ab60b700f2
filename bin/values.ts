/** How the values of options are read. */
import { InvalidArgumentError, type Option } from 'commander';
import type { PreserveKind } from '../lib/types.js';
import { globOf } from './arguments.js';
import { shells } from './completions.js';

/** The kinds that -p preserves. */
export const kindsOfP: PreserveKind[] = ['mode', 'timestamps', 'ownership'];

/** The words of cp after --preserve. */
export const preserveWords: Record<string, PreserveKind> = {
  mode: 'mode',
  timestamps: 'timestamps',
  ownership: 'ownership',
  xattr: 'xattrs',
  links: 'hardLinks',
};

const listed = ['all', ...Object.keys(preserveWords)];

/** For completions, beside the choices of the table. */
const words: Record<string, readonly string[] | undefined> = {
  atomic: ['two-step'],
  preserve: listed,
  noPreserve: listed,
  completions: shells,
};

type Parser = (value: string, before: never) => unknown;

const parsers: Record<string, Parser | undefined> = {
  atomic: (word) => word || true,
  include: collectGlobs,
  exclude: collectGlobs,
  ignoreFileNames: collect,
  includeFrom: collect,
  excludeFrom: collect,
  preserve: preserveOf,
  noPreserve: preserveOf,
  lockTimeout: numberOf,
  concurrency: numberOf,
  targetDirectory: once,
};

/** Sets how a value is read, and for completions the possible values. */
export function withParser(
  option: Option,
  name: string,
  choices: readonly string[] | undefined = words[name],
): Option {
  if (choices) option.choices([...choices]);
  const parser = parsers[name];
  return parser
    ? option.argParser<unknown>(parser as (value: string, before: unknown) => unknown)
    : option;
}

function once(value: string, previous?: string): string {
  if (previous === undefined) return value;
  throw new InvalidArgumentError(`Only one directory is possible, and '${previous}' was given.`);
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

function collectGlobs(value: string, previous?: string[]): string[] {
  return collect(globOf(value), previous);
}

/** Parses words of cp, separated by commas. */
function preserveOf(list: string, before: true | PreserveKind[] = []): true | PreserveKind[] {
  const kinds = list.split(',').map((word) => {
    if (listed.includes(word)) return preserveWords[word];
    throw new InvalidArgumentError(`Known are ${listed.join(', ')}.`);
  });
  const isAll = before === true || kinds.includes(undefined);
  return isAll || [...before, ...kinds.filter((kind) => kind !== undefined)];
}

function numberOf(value: string): number {
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It must be a number.');
}
