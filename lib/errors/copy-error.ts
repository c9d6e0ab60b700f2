/** The error of a copy, and refusals of the library itself. Codes are those of Node's fs.cp if it has them. */
import type { CopyErrorLike, CopyResult, ErrorCode } from '../types.js';

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
  archive: 'it is in an archive, which fastcp does not read',
} as const;

/** Returns the fields, also those of an Error, which JSON.stringify() omits because they are inherited or hidden. */
export function fieldsOf(error: CopyErrorLike): object {
  const { code, errno, syscall, path, dest, offset, message } = error;
  return { code, errno, syscall, path, dest, offset, message };
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

/** Formats a message as Node does: `CODE: text, syscall 'path' -> 'dest'`. */
export function describe(code: string, text: string, where: Partial<CopyErrorLike>): string {
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
