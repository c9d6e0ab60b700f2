/** fastcp: copies directory trees. */

export { compareTrees } from './compare-trees.js';
export { copyTree } from './copy-tree.js';
export { doctor } from './doctor/index.js';
export type * from './doctor/types.js';
export { CopyError } from './errors/copy-error.js';
export type * from './types.js';
