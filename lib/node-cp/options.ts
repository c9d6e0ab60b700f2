/** The options of Node's fs.cp, checked as Node checks them. */
import type { CopyOptions } from 'node:fs';
import { constants } from 'node:fs';
import { invalid, invalidType, outOfRange } from '../errors/arguments.js';
import type { Rules } from './request.js';

const defaults = {
  dereference: false,
  errorOnExist: false,
  force: true,
  mode: 0,
  preserveTimestamps: false,
  recursive: false,
  verbatimSymlinks: false,
};

/** All options with their defaults. `filter` may return a promise, which cpSync() refuses. */
export type Options = typeof defaults & Pick<CopyOptions, 'filter'>;

/** The options of fs.cp as rules of a copy. */
export function rulesOf({ mode, filter: _, ...flags }: Options): Rules {
  return { ...flags, like: 'node', clone: (mode & constants.COPYFILE_FICLONE_FORCE) !== 0 };
}

const flags = [
  'dereference',
  'errorOnExist',
  'force',
  'preserveTimestamps',
  'recursive',
  'verbatimSymlinks',
] as const;

const allModes =
  constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE | constants.COPYFILE_FICLONE_FORCE;

/** Checks options and adds defaults. Ignores names that Node does not know. */
export function checkOptions(given: unknown): Options {
  if (given === undefined) return { ...defaults };
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidType('options', 'of type object', given);
  }
  const options = { ...defaults, ...given } as Options;
  for (const name of flags) {
    if (typeof options[name] !== 'boolean') {
      throw invalidType(`options.${name}`, 'of type boolean', options[name]);
    }
  }
  options.mode = checkMode(options.mode);
  if (options.dereference && options.verbatimSymlinks) {
    const message =
      'Option "dereference" cannot be used in combination with option "verbatimSymlinks"';
    throw invalid(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', message);
  }
  if (options.filter !== undefined && typeof options.filter !== 'function') {
    throw invalidType('options.filter', 'of type function', options.filter);
  }
  return options;
}

function checkMode(mode: unknown): number {
  if (mode === undefined || mode === null) return 0;
  if (typeof mode !== 'number') throw invalidType('mode', 'of type number', mode);
  if (!Number.isInteger(mode)) throw outOfRange('mode', 'an integer', mode);
  if (mode < 0 || mode > allModes) throw outOfRange('mode', `>= 0 && <= ${allModes}`, mode);
  return mode;
}

export function checkCallback(callback: unknown): asserts callback is (error: unknown) => void {
  if (typeof callback !== 'function') throw invalidType('cb', 'of type function', callback);
}
