/** Converts errors of a copy to those of Node's fs.cp and of fs-extra's copy. */
import { lstatSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { codeInStack } from '../errors/arguments.js';
import { type CopyError, reasons } from '../errors/copy-error.js';
import type { Call } from './copy.js';

/** The beginning of Node's message, its errno, and fs-extra's message where its own tests look at it (`*SRC`: the target). */
type Refusal = [
  title: string,
  errno: 'EEXIST' | 'EINVAL' | 'EISDIR' | 'ENOTDIR',
  fsExtra?: string | undefined,
];

const clash = "Cannot overwrite non-directory 'DEST' with directory 'SRC'.";
const reverse = "Cannot overwrite directory 'DEST' with non-directory 'SRC'.";
/** Codes that have one reason. */
const refusals: Record<string, Refusal | undefined> = {
  ERR_FS_CP_DIR_TO_NON_DIR: ['Cannot overwrite non-directory with directory', 'EISDIR', clash],
  ERR_FS_CP_NON_DIR_TO_DIR: ['Cannot overwrite directory with non-directory', 'ENOTDIR', reverse],
  ERR_FS_CP_EEXIST: ['Target already exists', 'EEXIST', "'DEST' already exists"],
  ERR_FS_CP_FIFO_PIPE: ['Cannot copy a FIFO pipe', 'EINVAL'],
  ERR_FS_CP_SOCKET: ['Cannot copy a socket file', 'EINVAL'],
  ERR_FS_CP_UNKNOWN: ['Cannot copy an unknown file type', 'EINVAL'],
  ERR_FS_EISDIR: ['Path is a directory', 'EISDIR'],
  ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY: [
    'Cannot overwrite symlink in subdirectory of self',
    'EINVAL',
    "Cannot overwrite '*DEST' with '*SRC'.",
  ],
};

/** fs-extra's messages for the reasons of ERR_FS_CP_EINVAL. */
const invalid: Record<string, string | undefined> = {
  [reasons.same]: 'Source and destination must not be the same.',
  [reasons.inside]: "Cannot copy 'SRC' to a subdirectory of itself, 'DEST'.",
  [reasons.aboveOld]: "Cannot copy '*SRC' to a subdirectory of itself, '*DEST'.",
};

function refusalOf({ code, reason = '' }: CopyError): Refusal | undefined {
  if (code !== 'ERR_FS_CP_EINVAL') return refusals[code];
  return ['Invalid src or dest', 'EINVAL', invalid[reason] ?? reason];
}

/** Reads a symlink again, whose relative path is one below `base`. It may have changed: then the path says enough. */
function readAgain(symlink: string, base: string): string {
  try {
    return readlinkSync(path.resolve(base, symlink));
  } catch {
    return symlink;
  }
}

/** Node's SystemError, whose `errno` is positive. */
class SystemError extends Error {
  code: string;
  info: { message: string; path: string; syscall: string; errno: number; code: string };
  errno: number;
  syscall = 'cp';
  path: string;

  constructor(code: string, [title, errno]: Refusal, why: string, shown: string) {
    super(`${title}: cp returned ${errno} (${why}) ${shown}`);
    this.code = code;
    codeInStack(this);
    this.errno = constants.errno[errno];
    this.path = shown;
    this.info = { message: why, path: shown, syscall: 'cp', errno: this.errno, code: errno };
  }

  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
}
Object.defineProperty(SystemError.prototype, 'name', { value: 'SystemError' });

/**
 * Converts an error to that of fs.cp: the same code, errno, syscall, path and dest. The words are fastcp's. Those of cpSync() have
 * the same fields, which Node's have only in some versions.
 */
export function nodeError(error: CopyError, call: Call): Error {
  const refusal = refusalOf(error);
  if (!refusal) return systemError(error, call);
  const { code, path: src = '', dest = '', reason = '' } = error;
  const shown = code === 'ERR_FS_EISDIR' ? src : dest;
  return new SystemError(code, refusal, reason, shown);
}

/** Converts an error to that of fs-extra, whose own errors have no code. */
export function fsExtraError(error: CopyError, call: Call): Error {
  const refusal = refusalOf(error);
  if (!refusal) return systemError(error, call);
  const { path: src = '', dest = '' } = error;
  const [title, , words = `${title}: SRC`] = refusal;
  const fill = (word: string): string => {
    const named = word.endsWith('SRC') ? src : dest;
    return word.startsWith('*') ? readAgain(named, call.base) : named;
  };
  return new Error(words.replace(/\*?(?:SRC|DEST)/g, fill));
}

/** Returns the first path in Node's error of symlink(). */
function targetOf(symlink: string, { base, rules }: Call): string {
  const target = readAgain(symlink, base);
  return rules.verbatimSymlinks ? target : path.resolve(base, path.dirname(symlink), target);
}

type NodeCall = [name: string, operands: 'src' | 'dest' | 'both'];
/** System calls of the engine that Node makes under another name, and calls that name one path. */
const calls: Record<string, NodeCall | undefined> = {
  lstat: ['lstat', 'src'],
  stat: ['stat', 'src'],
  readlink: ['readlink', 'src'],
  getdents64: ['scandir', 'src'],
  mkdir: ['mkdir', 'dest'],
  fchmod: ['chmod', 'dest'],
  utimensat: ['utime', 'dest'],
  symlink: ['symlink', 'both'],
};

/** Names the call in which Node would have met the error of an open(): it looks at each entry first. */
function callBeforeOpen(entry: string, code: string): NodeCall {
  try {
    return lstatSync(entry).isDirectory() ? ['opendir', 'src'] : ['copyfile', 'both'];
  } catch (error) {
    const isSame = (error as NodeJS.ErrnoException).code === code;
    return isSame ? ['lstat', 'src'] : ['copyfile', 'both'];
  }
}

/**
 * Returns Node's error for a failed system call: it names the call that Node makes for this step. Errors of fastcp's own
 * stay.
 */
function systemError(error: CopyError, call: Call): Error {
  // What the system would say.
  const isAppendOnly = error.code === 'ERR_FASTCP_APPEND_ONLY';
  const code = isAppendOnly ? 'EPERM' : error.code;
  const errno = isAppendOnly ? -constants.errno.EPERM : error.errno;
  const { syscall = '', dest } = error;
  const src = (syscall === 'symlink' ? targetOf(error.path ?? '', call) : error.path) ?? '';
  if (errno === undefined || code.startsWith('ERR_')) {
    delete error.result; // a field of fastcp's own
    return error;
  }
  const [name, operands] =
    syscall === 'open'
      ? callBeforeOpen(path.resolve(call.base, src), code)
      : (calls[syscall] ?? ['copyfile', 'both']);
  const text = getSystemErrorMap().get(errno)?.[1] ?? error.reason ?? '';
  const where =
    operands === 'both' && dest !== undefined
      ? { path: src, dest }
      : { path: operands === 'dest' ? (dest ?? src) : src };
  const shown = Object.values(where).map((one) => `'${one}'`);
  const message = `${code}: ${text}, ${name} ${shown.join(' -> ')}`;
  return Object.assign(new Error(message), { errno, code, syscall: name, ...where });
}
