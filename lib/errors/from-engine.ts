/** Converts what the engine or a system call reports: errors, and entries that were skipped or lost metadata. */

import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import type { lossKinds, NativeProblem } from '../bridge/native.js';
import type { CopyWarning, ErrorCode, WarningCode } from '../types.js';
import { adviceOn } from './advice.js';
import { CopyError, describe, reasons } from './copy-error.js';

/** The types have every code that is not the system's. */
type Refusal = [code: ErrorCode, text: string];

/**
 * Returns the system's error for an errno of the engine, and Node's number of it. On Windows libuv has its own
 * numbers. Some of the system's errors have no name in libuv.
 */
function systemError(errno: number): [code: string, text: string, errno: number] {
  const code = nameOf(errno);
  const known = [...getSystemErrorMap()];
  const unknown = `system error${code === `E${-errno}` ? ` ${-errno}` : ''}`;
  const [number, [name, text]] = known.find(([one]) => one === errno) ??
    known.find(([, [one]]) => one === code) ?? [errno, [code, unknown]];
  return [name, ownTexts[code] ?? text, number];
}

function nameOf(errno: number): string {
  const known = { ...unknownToNode[process.platform], ...constants.errno };
  const [name] = Object.entries(known).find(([, value]) => value === -errno) ?? [`E${-errno}`];
  // They have one number on Linux, and one name in libuv.
  return name === 'EOPNOTSUPP' ? 'ENOTSUP' : name;
}

/** Numbers that Node does not name: of binding/src/platform/win32/errno.h, and of file systems of Linux. */
const unknownToNode: Record<string, Record<string, number> | undefined> = {
  win32: { EDQUOT: 69, ESTALE: 70 },
  linux: { EUCLEAN: 117, ENOKEY: 126 },
};

/** Of errors that libuv does not know, or says otherwise. */
const ownTexts: Record<string, string | undefined> = {
  EDQUOT: 'disk quota exceeded',
  ENOKEY: 'the directory is encrypted, and its key has not been added',
  EUCLEAN: 'the file system is damaged, and has to be checked',
  ESTALE: 'stale file handle: another entry is there now, or none',
  // libuv's text is about sockets.
  ENOTSUP: 'the file system does not support it',
};

/** Refusals of the engine itself: the errno's name, the code that users see, and the reason. */
const refusals: Record<string, Refusal | undefined> = {
  EEXIST: ['ERR_FS_CP_EEXIST', 'the destination exists'],
  EISDIR: ['ERR_FS_CP_NON_DIR_TO_DIR', 'the destination is a directory'],
  ENOTDIR: ['ERR_FS_CP_DIR_TO_NON_DIR', 'the destination is not a directory'],
  EINVAL: ['ERR_FS_CP_EINVAL', reasons.inside],
  ELOOP: ['ELOOP', 'the symlink leads to a directory above it'],
  EXDEV: [
    'ERR_FASTCP_MOUNT_POINT',
    'another file system or a subvolume is there, which fastcp does not delete',
  ],
  EBUSY: ['ERR_FASTCP_SOURCE_CHANGED', 'the source changed while it was copied'],
};

const special = (what: string): Refusal => [
  'ERR_FASTCP_DEST_IS_SPECIAL',
  `the destination is ${what}, which fastcp does not replace`,
];

/** Refusals whose operation names the kind of the entry. */
const kindRefusals: Record<string, Refusal | undefined> = {
  socket: ['ERR_FS_CP_SOCKET', 'it is a socket'],
  unknown: ['ERR_FS_CP_UNKNOWN', 'it is of no known kind'],
  fifo: ['ERR_FS_CP_FIFO_PIPE', 'it is a FIFO'],
  'fifo in dest': special('a FIFO'),
  'socket in dest': special('a socket'),
  'device in dest': special('a device'),
  'unknown in dest': special('of no known kind'),
  collision: [
    'ERR_FASTCP_NAME_COLLISION',
    'two names of the source are one name in the destination',
  ],
  replaced: [
    'ERR_FASTCP_DEST_CHANGED',
    'another entry has taken the place of the destination while it was copied',
  ],
  moved: [
    'ERR_FASTCP_DEST_CHANGED',
    'the path of the destination leads to another directory now, or to none',
  ],
  'append-only': [
    'ERR_FASTCP_APPEND_ONLY',
    'the directory is append-only, so nothing in it can be replaced',
  ],
  'source in dest': ['ERR_FS_CP_EINVAL', 'this directory of the destination is the source itself'],
  'same file': ['ERR_FS_CP_EINVAL', 'the symlink leads to the entry that it would replace'],
  'same directory': [
    'ERR_FS_CP_EINVAL',
    'by a mount or a symlink, this directory is the same one in source and destination',
  ],
  'kept open': [
    'EPERM',
    'other shards need the access that its mode denies to its owner; copy the whole tree once more to set the mode',
  ],
  verify: ['ERR_FASTCP_VERIFY', 'what was written differs from the source'],
  // Of fastcp/fs and fastcp/fs-extra, which say it in the words of others: lib/node-cp/errors.ts.
  'same entry': ['ERR_FS_CP_EINVAL', reasons.same],
  'above old': ['ERR_FS_CP_EINVAL', reasons.aboveOld],
  subdirectory: [
    'ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY',
    'a symlink is below the one that it would replace',
  ],
};

/** Creates the error for what the engine or a system call reports. */
export function errorOf(
  problem: Pick<NativeProblem, 'errno' | 'operation' | 'offset'>,
  path: string,
  dest?: string,
  hint = '',
): CopyError {
  const { errno, operation, offset } = problem;
  const [code, text, number] = systemError(errno);
  const refusal = operation === 'cp' ? refusals[code] : kindRefusals[operation];
  const [call = ''] = operation.split(' ');
  const where = { syscall: refusal ? 'cp' : call, path, ...(dest !== undefined && { dest }) };
  if (refusal) {
    const [refused, because] = refusal;
    const why = offset === undefined ? because + hint : `${because} at byte ${offset}`;
    const at = offset === undefined ? {} : { offset };
    return new CopyError(refused, describe(refused, why, where), {
      ...where,
      reason: why,
      errno: number,
      ...at,
    });
  }
  const advice = adviceOn(code, operation, path, dest);
  const reason = (advice ? `${text}: ${advice}` : text) + hint;
  return new CopyError(code, describe(code, reason, where), { ...where, reason, errno: number });
}

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
