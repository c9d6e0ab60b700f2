/** The warnings about entries that the engine has skipped, or whose metadata was lost. */

import type { lossKinds } from '../bridge/native.js';
import type { CopyWarning, WarningCode } from '../types.js';
import type { CopyError } from './copy-error.js';

export function warningOf({ operation }: { operation: string }, path: string): CopyWarning {
  return operation === 'socket'
    ? { code: 'SOCKET_SKIPPED', message: `socket not copied: '${path}'`, path }
    : {
        code: 'UNKNOWN_KIND_SKIPPED',
        message: `entry of no known kind not copied: '${path}'`,
        path,
      };
}

/** Warnings about entries whose mode, timestamps, … were not preserved. */
const losses: Record<(typeof lossKinds)[number], [WarningCode, string]> = {
  mode: ['MODE_NOT_PRESERVED', 'mode'],
  timestamps: ['TIMESTAMPS_NOT_PRESERVED', 'timestamps'],
  ownership: ['OWNERSHIP_NOT_PRESERVED', 'owner or group'],
  xattrs: ['XATTRS_NOT_PRESERVED', 'extended attributes'],
  acls: ['ACLS_NOT_PRESERVED', 'access control list'],
  hardLinks: ['HARD_LINKS_NOT_PRESERVED', 'hard link'],
};

/** Creates one warning for all entries that lost the same kind. */
export function lossWarning(
  kind: (typeof lossKinds)[number],
  count: number,
  first: CopyError,
): CopyWarning {
  const [code, what] = losses[kind];
  const entries = count === 1 ? '1 entry' : `${count} entries`;
  const { path } = first;
  const message = `${what} not preserved on ${entries}: ${count === 1 ? '' : 'first '}${first.message}`;
  return { code, message, count, ...(path !== undefined && { path }) };
}
