import { type Spelling, table } from '../lib/request/table.js';

const CODES = ['ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_VALUE', 'ERR_OUT_OF_RANGE'];

/**
 * Converts the library's message about wrong options to the terms of the command line. Returns undefined for
 * other errors.
 */
export function usageError(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && CODES.includes(String(error.code)))) return;
  return `fastcp: ${asOptions(error.message)}\nTry 'fastcp --help'.`;
}

/** `"options.onlyIgnored" property` becomes `--only-ignored`, `"src" argument` becomes SRC. */
export function asOptions(message: string): string {
  return message
    .replace(/\buse include: ('.*') with SRC '(.*)'/s, 'use --include $1 $2')
    .replace(/\block: false\b/, '--no-lock')
    .replace(/\bworktree: true\b/, '--worktree')
    .replace(/\batomic 'two-step'/, '--atomic=two-step')
    .replace(/\b(which|without) (atomic|shard)\b/, '$1 --$2')
    .replace(/; mirror changes it/, '; --mirror changes it')
    .replace(/The "options\.(\w+)(?:\[\d+\])?" property/g, (_, name: string) => optionOf(name))
    .replace(/The "(src|dest)(?:\[\d+\])?" argument/, (_, name: string) => name.toUpperCase())
    .replace(
      / must be (?:'auto' or 'never'|false) with (.*)\. Received .*/,
      (_, other: string) => ` cannot be combined with ${obstacleOf(other)}`,
    );
}

/** Returns the name of a library's option on the command line. */
function optionOf(name: string): string {
  const { cli } = (table as Record<string, { cli?: Spelling }>)[name] ?? {};
  const [long] = /--(?!no-)[\w-]+/.exec(cli?.flags ?? '') ?? [];
  return long ?? `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `sparse 'always', why` becomes `--sparse=always: why`. */
function obstacleOf(text: string): string {
  const [, name, value, why] = /^(\w+)(?: '(\w+)')?(?:, which (.*))?$/.exec(text) ?? [];
  if (name === undefined) return text;
  return `${optionOf(name)}${value ? `=${value}` : ''}${why ? `: it ${why}` : ''}`;
}
