/** Removes trees that the library made or moved away: never through links, never into what is mounted. */

import { runUnheard } from '../engine/run-engine.js';
import { checkRequest } from '../request/options.js';
import { showPath } from '../walk/paths.js';

/** A folder and all in it. Rejects where something cannot be removed. One that is not there is no error. */
export async function removeTree(path: Buffer): Promise<void> {
  const request = checkRequest(path, path, { onError: 'continue' });
  const root = { src: path, dest: path, followSrc: false, scope: 0, remove: true, isFolder: true };
  const walk = { roots: [root], into: false, shown: { src: showPath, dest: showPath } };
  const [error] = (await runUnheard(walk, request)).errors;
  if (error) throw error;
}
