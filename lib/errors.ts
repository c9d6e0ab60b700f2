/** Creates the errors of a copy, with the codes of Node's fs.cp if it has them. No other file creates them. */
import { existsSync, lstatSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import type { lossKinds, NativeProblem } from './bridge/native.js';
import type { CopyErrorLike, CopyResult, CopyWarning, ErrorCode, WarningCode } from './types.js';

export class CopyError extends Error implements CopyErrorLike {
  override name = 'CopyError';
  code: CopyErrorLike['code'];
  // Only declared, so that absent fields do not exist.
  declare errno?: number;
  declare syscall?: string;
  declare path?: string;
  declare dest?: string;
  declare offset?: number;
  /** The reason without code and paths. */
  declare reason?: string;
  /** The work done until then. Set on the error that a job rejects with. */
  declare result?: CopyResult;

  constructor(
    code: CopyErrorLike['code'],
    message: string,
    fields: Partial<CopyErrorLike & { reason: string }> = {},
  ) {
    super(message);
    this.code = code;
    const { reason, ...shown } = fields;
    Object.assign(this, shown);
    if (reason !== undefined) Object.defineProperty(this, 'reason', { value: reason });
  }

  toJSON(): object {
    return fieldsOf(this);
  }
}

/** Reasons that several checks have, in lib and in the engine. */
export const reasons = {
  same: 'source and destination are the same',
  inside: 'the destination is inside the source',
  aboveOld: 'a symlink is above the one that it would replace',
  dangling: 'it is a symlink that leads nowhere',
} as const;

/** Returns the fields, also those of an Error, which JSON.stringify() omits because they are inherited or hidden. */
export function fieldsOf(error: CopyErrorLike): object {
  const { code, errno, syscall, path, dest, offset, message } = error;
  return { code, errno, syscall, path, dest, offset, message };
}

type Named = [code: string, text: string];
/** The types have every code that is not the system's. */
type Refusal = [code: ErrorCode, text: string];

/**
 * Returns the system's error for an errno of the engine, and Node's number of it. On Windows libuv has its own
 * numbers. Some of the system's errors have no name in libuv.
 */
function systemError(errno: number): [...Named, errno: number] {
  const code = nameOf(errno);
  const text = ownTexts[code];
  const known = getSystemErrorMap();
  const named = known.get(errno);
  if (named) return [named[0], text ?? named[1], errno];
  for (const [number, [name, said]] of known) {
    if (name === code) return [code, text ?? said, number];
  }
  const unknown = `system error${code === `E${-errno}` ? ` ${-errno}` : ''}`;
  return [code, text ?? unknown, errno];
}

function nameOf(errno: number): string {
  const known = { ...unknownToNode[process.platform], ...constants.errno };
  const [name] = Object.entries(known).find(([, value]) => value === -errno) ?? [`E${-errno}`];
  // They have one number on Linux, and one name in libuv.
  return name === 'EOPNOTSUPP' ? 'ENOTSUP' : name;
}

/**
 * Adds the result of the job to its error, unless it has one, and the stack of the call. Not enumerable: the result has the
 * error, and JSON.stringify() throws for circles.
 */
export function withResult<E extends Error>(
  error: E,
  { result, stack }: { result: CopyResult; stack?: string },
): E {
  if ('result' in error) return error;
  // Our own frames would hide the caller's.
  if (stack) error.stack = stack.replace('Error', () => `${error.name}: ${error.message}`);
  return Object.defineProperty(error, 'result', {
    value: result,
    configurable: true,
    writable: true,
  });
}

/** Numbers that Node does not name: of binding/src/platform/win32/errno.h, and of file systems of Linux. */
const unknownToNode: Record<string, Record<string, number> | undefined> = {
  win32: { EDQUOT: 69, ESTALE: 70 },
  linux: { EUCLEAN: 117, ENOKEY: 126 },
};

/** Returns the number that the engine would give for an error that Node has thrown. */
export function nativeErrno({ code = '', errno = 0 }: NodeJS.ErrnoException): number {
  const native = (constants.errno as Record<string, number | undefined>)[code];
  return native === undefined ? errno : -native;
}

/** Of errors that libuv does not know, or says otherwise. */
const ownTexts: Record<string, string | undefined> = {
  EDQUOT: 'disk quota exceeded',
  ENOKEY: 'the directory is encrypted, and its key has not been added',
  EUCLEAN: 'the file system is damaged, and has to be checked',
  ESTALE: 'stale file handle: it was moved or removed meanwhile',
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
    'somebody replaced the entry of the destination while it was copied',
  ],
  moved: [
    'ERR_FASTCP_DEST_CHANGED',
    'somebody renamed, replaced or removed the directory of the destination while it was filled',
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
    'other shards need the access that its mode denies to its owner; copy once more without shard (--shard) to set the mode',
  ],
  separated: [
    'ENOTSUP',
    'an overlay or another copy gave the name a new file, so other names may be separate files until the next copy',
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

/** Formats a message as Node does: `CODE: text, syscall 'path' -> 'dest'`. */
function describe(code: string, text: string, where: Partial<CopyErrorLike>): string {
  const { syscall, path, dest } = where;
  const operands = [path, dest].filter((operand) => operand !== undefined && operand !== '');
  const place = operands.map((operand) => `'${operand}'`).join(' -> ');
  return `${code}: ${text}, ${[syscall, place].filter(Boolean).join(' ')}`;
}

/** Creates an error of the library itself, without a failed system call. */
export function refuse(code: ErrorCode, why: string, path: string, dest?: string): CopyError {
  const where = { syscall: 'cp', path, ...(dest !== undefined && { dest }) };
  return new CopyError(code, describe(code, why, where), { ...where, reason: why });
}

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
  const advice =
    adviceOn(code, operation) ??
    causeAt(code, operation, path, dest) ??
    (dest ? deniedEnd(code, operation) : undefined);
  const reason = (advice ? `${text}: ${advice}` : text) + hint;
  return new CopyError(code, describe(code, reason, where), { ...where, reason, errno: number });
}

/** What helps, by code and system call. */
const windowsAdvice: Record<string, string | undefined> = {
  'EPERM symlink': 'turn on Developer Mode, or run as administrator',
};

/** Linux has no other way to what was asked for. */
export const needsProc = 'this needs /proc, which is not mounted';

/** The system calls for which the engine reaches an entry that it has open through /proc. */
const throughProc = /xattr$|^utimensat$|^chmod$|^link$/;

/** With `reflink: 'always'`. The reasons of the systems are misleading: EINVAL, EXDEV. */
const clones = ['ioctl(FICLONE)', 'clonefile', 'FSCTL_DUPLICATE_EXTENTS_TO_FILE'];

function adviceOn(code: string, operation: string): string | undefined {
  if (operation === 'mknod' && code === 'EPERM')
    return 'a device needs root, some file systems have no FIFOs, and an immutable directory takes neither';
  // The entry itself has its name already.
  if (operation === 'rename' && code === 'ENAMETOOLONG') return 'that of the backup';
  if (clones.includes(operation)) return 'the file cannot be cloned';
  if (process.platform === 'win32') return windowsAdvice[`${code} ${operation}`];
  const isLost = process.platform === 'linux' && code === 'ENOENT' && throughProc.test(operation);
  return isLost && !existsSync('/proc/self') ? needsProc : undefined;
}

/** Looks for the cause of an error whose code has several. */
function causeAt(code: string, operation: string, path: string, dest = path): string | undefined {
  const names = ['rename', 'unlink', 'rmdir'].includes(operation); // changes an existing name
  const look = (at: string) => lstatSync(at, { throwIfNoEntry: false });
  try {
    if (code === 'ENOENT' && ['stat', 'open source'].includes(operation))
      return look(path)?.isSymbolicLink() ? reasons.dangling : undefined;
    if (code === 'EBUSY' && names && process.platform === 'linux')
      return 'it is a mount point, which can be neither replaced nor deleted';
    const own = process.geteuid?.() ?? 0;
    if (code === 'EPERM' && names && own !== 0) {
      const [entry, above] = [look(dest), look(dirname(dest))];
      const isOthers = entry?.uid !== own && above?.uid !== own;
      if (isOthers && (above?.mode ?? 0) & 0o1000)
        return 'its directory is sticky, and the entry belongs to another user';
    }
    if (code === 'EACCES' && operation === 'open dest' && dest !== path && look(dest))
      return 'its directory cannot be written, in which fastcp creates the new file';
  } catch {} // the look is denied
  return undefined;
}

/** Errors have both paths. Says which of the two was denied. */
function deniedEnd(code: string, operation: string): string | undefined {
  if (code !== 'EACCES' && code !== 'EPERM') return undefined;
  if (operation === 'open source') return 'the source cannot be read';
  // EPERM of the others has many causes.
  const creations = ['open dest', ...(code === 'EACCES' ? ['mkdir', 'symlink', 'link'] : [])];
  return creations.includes(operation) ? 'the destination cannot be written' : undefined;
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

/** Creates an error that prints its code, as Node's errors do. */
export function invalid(
  Type: typeof Error | typeof TypeError | typeof RangeError,
  code: string,
  message: string,
): Error {
  const error = codeInStack(Object.assign(new Type(message), { code }));
  const print = (): string => `${error.name} [${code}]: ${error.message}`;
  return Object.defineProperty(error, 'toString', { value: print });
}

/** Writes the code into the first line of the stack, where Node's errors have it. */
export function codeInStack<E extends Error & { code: string }>(error: E): E {
  const { name, code, stack } = error;
  if (stack) error.stack = stack.replace(name, `${name} [${code}]`);
  return error;
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'object' && value !== null)
    return `an instance of ${value.constructor?.name ?? 'Object'}`;
  return String(value);
}

/** Creates the error for an option or argument of the wrong type; `name` as users write it. */
export function invalidType(name: string, expected: string, value: unknown): Error {
  const message = `The "${name}" ${kindOf(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_TYPE', message);
}

/** Creates the error for a value of the right type that is not allowed. */
export function invalidValue(name: string, expected: string, value: unknown): Error {
  const message = `The "${name}" ${kindOf(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_VALUE', message);
}

export function outOfRange(name: string, expected: string, value: unknown): Error {
  const message = `The value of "${name}" is out of range. It must be ${expected}. Received ${show(value)}`;
  return invalid(RangeError, 'ERR_OUT_OF_RANGE', message);
}

function kindOf(name: string): string {
  return name.startsWith('options.') ? 'property' : 'argument';
}
