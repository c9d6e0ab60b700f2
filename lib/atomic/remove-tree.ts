/** Removes trees that the library created or moved away. Never follows symlinks, and never enters mounts. */
import { promises } from 'node:fs';
import { runUnheard } from '../bridge/run-engine.js';
import { Looks } from '../io/looks.js';
import { showPath } from '../paths.js';
import type { Root } from '../placement/placement.js';
import { checkRequest } from '../request/options.js';

export interface Removal {
  signal?: AbortSignal | undefined;
  /** A directory that stays, wherever it is in the tree. Meeting it is an error. */
  spared?: Buffer;
}

/**
 * Removes an entry, and everything in it. A missing one is no error. Rejects with the first error if
 * something cannot be removed, and with `signal.reason`. Then a part of the tree is left.
 */
export async function removeTree(
  path: Buffer,
  { signal, spared = path }: Removal = {},
): Promise<void> {
  const there = await promises.lstat(path).catch(() => undefined);
  if (there && !there.isDirectory()) return await promises.unlink(path);
  const request = checkRequest(path, path, { onError: 'continue', ...(signal && { signal }) });
  const root: Root = {
    ...{ src: spared, dest: path, kind: 'directory', bytes: 0, mode: 0, scope: 0 },
    ...{ followSrc: false, followDest: false, remove: true },
  };
  const shown = { src: showPath, dest: showPath };
  const placement = { roots: [root], into: false, errors: [], shown, looks: new Looks() };
  const [error] = (await runUnheard(placement, request)).errors;
  if (error) throw error;
}
