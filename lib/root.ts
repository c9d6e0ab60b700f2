import { join } from 'node:path';

/** The package's root: this file and those in dist/ are in a directory of it. */
export const packageRoot = join(import.meta.dirname, '..');
