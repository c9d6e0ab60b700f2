/** Errors of a copy: made here and nowhere else, with the codes of Node's fs.cp where it has one. */
import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import type { lossKinds, NativeProblem } from './engine/native.js';
import type { CopyErrorLike, CopyResult, CopyWarning, ErrorCode, WarningCode } from './types.js';

export class CopyError extends Error implements CopyErrorLike {
  override name = 'CopyError';
  code: CopyErrorLike['code'];
  // Declared only: what does not apply is not there.
  declare errno?: number;
  declare syscall?: string;
  declare path?: string;
  declare dest?: string;
  declare offset?: number;
  /** Why it failed, without code and paths. */
  declare reason?: string;
  /** What was done until then; set on the error that a job rejects with. */
  declare result?: CopyResult;

  constructor(
    code: CopyErrorLike['code'],
    message: string,
    fields: Partial<CopyErrorLike & { reason: string }> = {},
  ) {
    super(message);
    this.code = code;
    Object.assign(this, fields);
  }
}

type Named = [code: string, text: string];
/** The types list every code that is not the system's. */
type Refusal = [code: ErrorCode, text: string];

/**
 * An error of the engine by its number, and Node's number of it: on Windows libuv has numbers of its own. Some
 * of the system's errors have no name in libuv.
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
  const known = { ...unknownToWindows, ...constants.errno };
  const [name] = Object.entries(known).find(([, value]) => value === -errno) ?? [`E${-errno}`];
  // One number on Linux, and one name in libuv.
  return name === 'EOPNOTSUPP' ? 'ENOTSUP' : name;
}

/** binding/src/platform/win32/errno.h */
const unknownToWindows = process.platform === 'win32' ? { EDQUOT: 69, ESTALE: 70 } : {};

/** Of an error that Node has thrown: the number that the engine would have given. */
export function nativeErrno({ code = '', errno = 0 }: NodeJS.ErrnoException): number {
  const native = (constants.errno as Record<string, number | undefined>)[code];
  return native === undefined ? errno : -native;
}

/** Of errors that libuv does not know, or says otherwise. */
const ownTexts: Record<string, string | undefined> = {
  EDQUOT: 'disk quota exceeded',
  ESTALE: 'stale file handle: it was moved or removed meanwhile',
  // libuv says that of a socket.
  ENOTSUP: 'the file system does not support it',
};

/** What the engine refuses by itself: its errno's name, the code that users see, and why. */
const refusals: Record<string, Refusal | undefined> = {
  EEXIST: ['ERR_FS_CP_EEXIST', 'the destination exists'],
  EISDIR: ['ERR_FS_CP_NON_DIR_TO_DIR', 'the destination is a directory'],
  ENOTDIR: ['ERR_FS_CP_DIR_TO_NON_DIR', 'the destination is not a directory'],
  EINVAL: ['ERR_FS_CP_EINVAL', 'the destination is inside the source'],
  ELOOP: ['ELOOP', 'the symlink leads to a directory above it'],
  EXDEV: ['ERR_FASTCP_MOUNT_POINT', 'a file system is mounted there, which fastcp does not delete'],
  EBUSY: ['ERR_FASTCP_SOURCE_CHANGED', 'the source changed while it was copied'],
};

const special = (what: string): Refusal => [
  'ERR_FASTCP_DEST_IS_SPECIAL',
  `the destination is ${what}, which fastcp does not replace: remove it first`,
];

/** The same, where the operation says what it is. */
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
  'append-only': [
    'ERR_FASTCP_APPEND_ONLY',
    'the directory is append-only, so nothing in it can be replaced',
  ],
  verify: ['ERR_FASTCP_VERIFY', 'what was written differs from the source'],
  subdirectory: [
    'ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY',
    'a symlink to the source cannot be replaced by one to a directory in it',
  ],
};

/** As Node writes it: `CODE: text, syscall 'path' -> 'dest'`. */
function describe(code: string, text: string, where: Partial<CopyErrorLike>): string {
  const { syscall, path, dest } = where;
  const operands = [path, dest].filter((operand) => operand !== undefined && operand !== '');
  const place = operands.map((operand) => `'${operand}'`).join(' -> ');
  return `${code}: ${text}, ${[syscall, place].filter(Boolean).join(' ')}`;
}

/** An error where the library, not a system call, says no. */
export function refuse(code: ErrorCode, why: string, path: string, dest?: string): CopyError {
  const where = { syscall: 'cp', path, ...(dest === undefined ? {} : { dest }) };
  return new CopyError(code, describe(code, why, where), { ...where, reason: why });
}

export function errorOf(
  problem: Pick<NativeProblem, 'errno' | 'operation' | 'offset'>,
  path: string,
  dest: string,
  hint = '',
): CopyError {
  const { errno, operation, offset } = problem;
  const [code, text, number] = systemError(errno);
  const refusal = operation === 'cp' ? refusals[code] : kindRefusals[operation];
  const where = { syscall: refusal ? 'cp' : operation, path, dest };
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
  return new CopyError(code, describe(code, text, where), {
    ...where,
    reason: text,
    errno: number,
  });
}

export function warningOf(path: string): CopyWarning {
  return { code: 'SOCKET_SKIPPED', message: `socket not copied: '${path}'`, path };
}

/** What is said of an entry whose mode, times, … were not kept. */
const losses: Record<(typeof lossKinds)[number], [WarningCode, string]> = {
  mode: ['MODE_NOT_PRESERVED', 'mode'],
  timestamps: ['TIMESTAMPS_NOT_PRESERVED', 'timestamps'],
  ownership: ['OWNERSHIP_NOT_PRESERVED', 'owner or group'],
  xattrs: ['XATTRS_NOT_PRESERVED', 'extended attributes'],
  acls: ['ACLS_NOT_PRESERVED', 'access control list'],
  hardLinks: ['HARD_LINKS_NOT_PRESERVED', 'hard link'],
};

/** One for all entries that lost the same. */
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

export function invalid(
  Type: typeof TypeError | typeof RangeError,
  code: string,
  message: string,
): Error {
  return Object.assign(new Type(message), { code });
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'object' && value !== null)
    return `an instance of ${value.constructor?.name ?? 'Object'}`;
  return String(value);
}

/** For an option or argument of the wrong type; `name` as users write it. */
export function invalidType(name: string, expected: string, value: unknown): Error {
  const message = `The "${name}" ${kindOf(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_TYPE', message);
}

/** For one of the right type that means nothing here. */
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
