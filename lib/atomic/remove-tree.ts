/** Removes trees that the library created or moved away, and an old DEST that cannot be moved. Never follows symlinks, and never enters mounts. */

import { runUnheard } from '../engine/run-engine.js';
import { checkRequest, type Request } from '../request/options.js';
import { type Shown, showPath } from '../walk/paths.js';
import type { Root } from '../walk/walk.js';

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
  const shown = { src: showPath, dest: showPath };
  await run({ src: spared, dest: path, followDest: false, remove: true }, shown, request);
}

interface Emptying {
  /** The directory's path in messages. */
  path: Buffer;
  /** The name of the entry that stays. */
  kept: Buffer;
  /** An empty directory. */
  empty: Buffer;
}

/** Removes all entries of a directory but one. Follows a symlink to the directory. Rejects as removeTree() does. */
export async function emptyDirectory(
  directory: Buffer,
  { path, kept, empty }: Emptying,
): Promise<void> {
  const request = checkRequest(empty, path, {
    mirror: true,
    filter: (_src, _dest, { name }) => name !== kept.toString(),
    onError: 'continue',
  });
  const below = (entry: Buffer) => entry.subarray(directory.length);
  const shown = {
    src: () => showPath(path),
    dest: (entry: Buffer) => showPath(Buffer.concat([path, below(entry)])),
  };
  await run({ src: empty, dest: directory, followDest: true, remove: false }, shown, request);
}

async function run(
  how: Pick<Root, 'src' | 'dest' | 'followDest' | 'remove'>,
  shown: Shown,
  request: Request,
): Promise<void> {
  const root: Root = { ...how, followSrc: false, scope: 0, kind: 'directory' };
  const walk = { roots: [root], into: false, errors: [], shown };
  const [error] = (await runUnheard(walk, request)).errors;
  if (error) throw error;
}
