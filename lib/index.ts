/** fastcp: copies directory trees. */
export { copyTree } from './copy-tree.js';
export { CopyError } from './errors.js';
export { makeSnapshotSource } from './snapshot.js';
export type * from './types.js';
