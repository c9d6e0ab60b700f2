/** Reads errors that Node has thrown, and converts them to fastcp's. */
import { constants } from 'node:os';
import { isNativeError } from 'node:util/types';
import { CopyError } from './copy-error.js';

/** The error of Node's permission model, which has no system call, and not always a hint. */
export const deniedByNode = 'ERR_ACCESS_DENIED';
const deniedText = `${deniedByNode}: Node's permission model forbids it; use --allow-fs-read and --allow-fs-write`;

/** Converts Node's error to fastcp's, with the user's path, and with more about the reason. */
export function asCopyError(error: unknown, path: string, more?: string): unknown {
  if (!isNativeError(error) || !('code' in error)) return error;
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  const [said = ''] = code === deniedByNode ? [deniedText] : error.message.split(', ');
  const text = more === undefined ? said : `${said}: ${more}`;
  const reason = text.replace(/^\w+: /, '');
  const fields = { path, reason, ...(errno && { errno }), ...(syscall && { syscall }) };
  const place = syscall ? `${syscall} '${path}'` : `'${path}'`;
  return new CopyError(String(code), `${text}, ${place}`, fields);
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

/** Throws an error unless it says that something is missing. */
export function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** Returns the number that the engine would give for an error that Node has thrown. */
export function nativeErrno({ code = '', errno = 0 }: NodeJS.ErrnoException): number {
  const native = (constants.errno as Record<string, number | undefined>)[code];
  return native === undefined ? errno : -native;
}
