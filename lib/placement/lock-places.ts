/** The directories of a copy that are locked. */
import { type BigIntStats, closeSync, constants as flags, fstat, open } from 'node:fs';
import { promisify } from 'node:util';
import { pause } from '../builtins.js';
import { asCopyError, codeOf } from '../errors/from-node.js';
import { existing } from '../io/looks.js';
import type { Request } from '../request/request.js';
import { mark } from './lock-above.js';
import type { Placement, Root } from './placement.js';

const calls = { fstat: promisify(fstat), open: promisify(open) };

/** Each place has a descriptor for as long as the copy runs. */
export const mostPlaces = 200;

/** A directory that a copy uses. */
export interface LockPlace {
  path: Buffer;
  follow: boolean;
  exclusive: boolean;
  shown: string;
  /** In place of `shown`, what a warning says. */
  what?: string;
  /** Has the file descriptor for the engine. */
  root?: Root;
  isDest?: boolean;
}

export interface Held {
  found: BigIntStats;
  /** With a lock, or under the lock of a program above. */
  descriptor?: number;
  isCounted?: boolean;
}

/** Returns all SRCs that are directories, and their places in DEST. */
export function placesOf({ roots, shown }: Placement, request: Request): LockPlace[] {
  const { like, dryRun, atomic, snapshot, sync, shards } = request;
  const directories = like === 'fastcp' ? roots.filter(({ kind }) => kind === 'directory') : [];
  const places = directories.map((root): LockPlace => {
    const { src: path, followSrc: follow } = root;
    return { path, follow, exclusive: false, shown: shown.src(path), root };
  });
  // An atomic copy and a snapshot create a tree of their own.
  const fills = !dryRun && !atomic && snapshot === 'never';
  for (const root of fills ? directories : []) {
    const { dest: path, followDest: follow } = root;
    const exclusive = sync && shards === 0;
    places.push({ path, follow, exclusive, shown: shown.dest(path), root, isDest: true });
  }
  return places;
}

/** Opens a directory, if it exists and can be opened. Without locks, finds out what SRC is. */
export async function openPlace(
  { path, follow, shown, isDest }: LockPlace,
  lock: boolean,
): Promise<Held | undefined> {
  if (!lock) {
    const found = isDest ? undefined : await existing(path, follow).catch(() => undefined);
    return found?.isDirectory() ? { found } : undefined;
  }
  const how = flags.O_RDONLY | flags.O_DIRECTORY | mark | (follow ? 0 : flags.O_NOFOLLOW);
  const open = async (left: number): Promise<number | undefined> => {
    try {
      return await calls.open(path, how);
    } catch (error) {
      if (!/^E[MN]FILE$/.test(codeOf(error) ?? '')) return undefined;
      if (left === 0) throw asCopyError(error, shown);
      await pause(10); // other copies of the process may close some; the engine waits as long
      return await open(left - 1);
    }
  };
  const descriptor = await open(100);
  if (descriptor === undefined) return undefined;
  try {
    return { found: await calls.fstat(descriptor, { bigint: true }), descriptor };
  } catch (error) {
    closeSync(descriptor);
    throw asCopyError(error, shown);
  }
}

/** Passes a descriptor to the engine, or -1. */
export function hold({ root, isDest }: LockPlace, descriptor: number): void {
  if (root) root[isDest ? 'destHeld' : 'srcHeld'] = descriptor;
}
