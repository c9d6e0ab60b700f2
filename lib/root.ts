import { join } from 'node:path';

/**
 * The package's root: this file and those in dist/ are in a directory of it. Undefined where a bundler has put them into an ES
 * module that cannot say where it is.
 */
export const packageRoot = ((): string | undefined => {
  try {
    return join(import.meta.dirname, '..');
  } catch {
    return undefined;
  }
})();
