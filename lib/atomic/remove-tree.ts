/** Removes trees that the library created or moved away, and an old DEST that cannot be moved. Never follows symlinks, and never enters mounts. */

import { runUnheard } from '../engine/run-engine.js';
import { checkRequest, type Request } from '../request/options.js';
import { showPath } from '../walk/paths.js';

export interface Removal {
  signal?: AbortSignal | undefined;
  /** A directory that stays, wherever it is in the tree. Meeting it is an error. */
  spared?: Buffer;
}

/**
 * Removes a directory and everything in it. A missing directory is no error. Rejects with the first error if
 * something cannot be removed, and with `signal.reason`. Then a part of the tree is left.
 */
export async function removeTree(
  path: Buffer,
  { signal, spared = path }: Removal = {},
): Promise<void> {
  const request = checkRequest(path, path, { onError: 'continue', ...(signal && { signal }) });
  await run(spared, path, true, request);
}

/** Removes everything in a directory but the entry of one name. `empty` is an empty directory. Rejects as removeTree() does. */
export async function emptyDirectory(path: Buffer, kept: Buffer, empty: Buffer): Promise<void> {
  const request = checkRequest(empty, path, {
    mirror: true,
    filter: (_src, _dest, { name }) => name !== kept.toString(),
    onError: 'continue',
  });
  await run(empty, path, false, request);
}

async function run(src: Buffer, dest: Buffer, remove: boolean, request: Request): Promise<void> {
  const kind = 'directory' as const;
  const root = { src, dest, followSrc: false, followDest: false, scope: 0, remove, kind };
  const walk = { roots: [root], into: false, errors: [], shown: { src: showPath, dest: showPath } };
  const [error] = (await runUnheard(walk, request)).errors;
  if (error) throw error;
}
