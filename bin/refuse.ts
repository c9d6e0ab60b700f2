import { invalid } from '../lib/errors/arguments.js';

/** Throws the error of a wrong command line, as the library does for wrong options. */
export function refuse(text: string): never {
  throw invalid(TypeError, 'ERR_INVALID_ARG_VALUE', text);
}
