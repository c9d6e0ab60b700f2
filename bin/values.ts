/** How the values of options are read. */
import { InvalidArgumentError, type Option } from 'commander';
import type { CopyOptions, PreserveKind } from '../lib/types.js';
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

/** The meanings of an option's words. The empty word stands for the option without a value. */
const meanings: Partial<Record<keyof CopyOptions, Record<string, unknown>>> = {
  atomic: { '': true, 'two-step': 'two-step' },
  snapshot: { '': 'always', always: 'always', auto: 'auto', never: 'never' },
  reflink: { '': 'always', always: 'always', auto: 'auto', never: 'never' },
  // As in cp, whose `t` and `nil` mean the same.
  backup: {
    '': 'existing',
    numbered: 'numbered',
    existing: 'existing',
    t: 'numbered',
    nil: 'existing',
  },
};

/** Sets how a value is read, and for completions the possible values. */
export function withParser(option: Option, name: string, choices?: readonly string[]): Option {
  if (option.negate) return option;
  const words = meanings[name as keyof CopyOptions];
  if (words) {
    const shown = Object.keys(words).filter((word) => !['', 't', 'nil'].includes(word));
    return option.choices(shown).argParser(choiceOf(words, shown));
  }
  if (choices) return option.choices([...choices]);
  switch (name) {
    case 'include':
    case 'exclude':
      return option.argParser(collectGlobs);
    case 'ignoreFileName':
    case 'ignoreFileNames':
    case 'includeFrom':
    case 'excludeFrom':
      return option.argParser(collect);
    case 'preserve':
      return option.choices(['all', ...Object.keys(preserveWords)]).argParser(preserveOf);
    case 'noPreserve':
      return option
        .choices(['all', ...Object.keys(preserveWords)])
        .argParser((list, before) => preserveOf(list || 'mode', before));
    case 'lockTimeout':
      return option.argParser(parseSeconds);
    case 'concurrency':
      return option.argParser(parseJobs);
    case 'targetDirectory':
      return option.argParser(once);
    case 'completions':
      return option.choices([...shells]);
    default:
      return option;
  }
}

function once(value: string, previous?: string): string {
  if (previous === undefined) return value;
  throw new InvalidArgumentError(`'${previous}' and '${value}': only one directory is possible`);
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

function collectGlobs(value: string, previous?: string[]): string[] {
  return collect(globOf(value), previous);
}

/**
 * Parses words of cp, separated by commas. Without a value it returns the kinds that -p preserves, as in cp.
 */
function preserveOf(list: string, before?: unknown): true | PreserveKind[] {
  const earlier = Array.isArray(before) ? (before as PreserveKind[]) : [];
  if (before === true) return true;
  if (list === '') return [...earlier, ...kindsOfP];
  const words = list.split(',');
  const added = words.flatMap((word): PreserveKind[] => {
    if (word === 'all') return [];
    const kind = Object.hasOwn(preserveWords, word) ? preserveWords[word] : undefined;
    if (kind) return [kind];
    const known = Object.keys(preserveWords).join(', ');
    throw new InvalidArgumentError(`unknown attribute '${word}'; known are all, ${known}`);
  });
  return words.includes('all') || [...earlier, ...added];
}

function choiceOf(
  choices: Record<string, unknown>,
  shown: readonly string[],
): (value: string) => unknown {
  return (value) => {
    if (Object.hasOwn(choices, value)) return choices[value];
    throw new InvalidArgumentError(`unknown value '${value}'; known are ${shown.join(', ')}`);
  };
}

function parseSeconds(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value)) {
    throw new InvalidArgumentError(`'${value}' is not a number of seconds`);
  }
  return Number(value);
}

function parseJobs(value: string): number {
  const jobs = Number(value);
  if (!/^\d+$/.test(value) || jobs < 1 || jobs > 1024) {
    throw new InvalidArgumentError(`'${value}' is not a whole number from 1 to 1024`);
  }
  return jobs;
}
