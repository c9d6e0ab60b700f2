/** fastcp: copies directory trees. */
export { compareTrees } from './compare-trees.js';
export { copyTree } from './copy-tree.js';
export { CopyError } from './errors.js';
export type * from './types.js';
