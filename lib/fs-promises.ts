/** `fastcp/fs/promises`: cp of node:fs/promises, with fastcp's engine. */
import { promises } from './fs.js';

/** fs.promises.cp() */
export const cp = promises.cp;

export default { cp };
