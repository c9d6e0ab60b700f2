/** Looks whether SRC and DEST are still where the copy found them. */
import { promises } from 'node:fs';
import { refuse } from '../errors/copy-error.js';
import { existing, isSame } from '../io/looks.js';
import type { Request } from '../request/request.js';
import type { ErrorCode } from '../types.js';
import type { Held, LockPlace } from './lock-places.js';
import type { Placement } from './placement.js';

const sourceChanged: readonly [ErrorCode, string] = [
  'ERR_FASTCP_SOURCE_CHANGED',
  'another directory has taken the place of the source while it was copied',
];
const destChanged: readonly [ErrorCode, string] = [
  'ERR_FASTCP_DEST_CHANGED',
  'another program has moved or replaced the destination while it was filled',
];

/**
 * Rejects if the directory that was copied is not at SRC any more, unless its lock has kept others from changing it. Under a lock,
 * DEST may be elsewhere only if an atomic copy has replaced it, which is then the later one.
 */
export async function refuseChanged(
  held: ReadonlyMap<LockPlace, Held>,
  { shown }: Placement,
  request: Request,
): Promise<void> {
  const { gitignore, onlyIgnored, ignoreFileNames } = request;
  const readsRules = gitignore || onlyIgnored || ignoreFileNames.length > 0; // by SRC's path
  for (const [{ path, follow, root, isDest }, { found, descriptor }] of held) {
    if (!root || (isDest ? descriptor === undefined : descriptor !== undefined && !readsRules))
      continue;
    const named = await existing(path, follow);
    if (named && isSame(named, found)) continue;
    let [code, why] = sourceChanged;
    if (isDest) {
      if (!named?.isDirectory()) continue; // the engine has reported it
      const opened = Buffer.from(`/proc/self/fd/${descriptor}`);
      const where = await promises.readlink(opened, 'latin1').catch(() => '');
      if (!where || /\.fastcp-[0-9a-f]{16}(\.old)?(\/|$)/.test(where)) continue;
      [code, why] = destChanged;
    }
    throw refuse(code, why, shown.src(root.src), shown.dest(root.dest));
  }
}
