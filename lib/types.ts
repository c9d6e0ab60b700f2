/** The public types. docs/api.md has them in the order of these files. */
export type * from './types/copy-options.js';
export type * from './types/differences.js';
export type * from './types/entries.js';
export type * from './types/outcome.js';
export type * from './types/problems.js';
export type * from './types/running.js';
