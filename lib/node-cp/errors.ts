/** Converts errors of a copy to those of Node's fs.cp and of fs-extra's copy. */
import { lstatSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { codeInStack } from '../errors/arguments.js';
import { type CopyError, reasons } from '../errors/copy-error.js';
import type { Call, Form } from './copy.js';

/** Returns the target of a symlink as the message has it. */
type TargetOf = (symlink: string) => string;
/** Says why a copy was refused. */
type Say = (src: string, dest: string, targetOf: TargetOf) => string;

interface Refusal {
  /** The beginning of the message of `cp` and `promises.cp`. */
  title: string;
  errno: 'EEXIST' | 'EINVAL' | 'EISDIR' | 'ENOTDIR';
  node: Say;
  /** Returns cpSync()'s message. Such an error has only `message` and `code`. Undefined: as `cp`. */
  nodeSync?: (text: string, src: string, dest: string) => string;
  fsExtra: Say;
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Codes that have one reason. */
const refusals: Record<string, Refusal | undefined> = {
  ERR_FS_CP_DIR_TO_NON_DIR: {
    title: 'Cannot overwrite non-directory with directory',
    errno: 'EISDIR',
    node: (src, dest) => `cannot overwrite non-directory ${dest} with directory ${src}`,
    nodeSync: capitalized,
    fsExtra: (src, dest) => `Cannot overwrite non-directory '${dest}' with directory '${src}'.`,
  },
  ERR_FS_CP_NON_DIR_TO_DIR: {
    title: 'Cannot overwrite directory with non-directory',
    errno: 'ENOTDIR',
    node: (src, dest) => `cannot overwrite directory ${dest} with non-directory ${src}`,
    nodeSync: capitalized,
    fsExtra: (src, dest) => `Cannot overwrite directory '${dest}' with non-directory '${src}'.`,
  },
  ERR_FS_CP_EEXIST: {
    title: 'Target already exists',
    errno: 'EEXIST',
    node: (_src, dest) => `${dest} already exists`,
    fsExtra: (_src, dest) => `'${dest}' already exists`,
  },
  ERR_FS_CP_FIFO_PIPE: {
    title: 'Cannot copy a FIFO pipe',
    errno: 'EINVAL',
    node: (_src, dest) => `cannot copy a FIFO pipe: ${dest}`,
    nodeSync: capitalized,
    fsExtra: (src) => `Cannot copy a FIFO pipe: ${src}`,
  },
  ERR_FS_CP_SOCKET: {
    title: 'Cannot copy a socket file',
    errno: 'EINVAL',
    node: (_src, dest) => `cannot copy a socket file: ${dest}`,
    nodeSync: capitalized,
    fsExtra: (src) => `Cannot copy a socket file: ${src}`,
  },
  ERR_FS_CP_UNKNOWN: {
    title: 'Cannot copy an unknown file type',
    errno: 'EINVAL',
    node: (_src, dest) => `cannot copy an unknown file type: ${dest}`,
    nodeSync: capitalized,
    fsExtra: (src) => `Unknown file: ${src}`,
  },
  ERR_FS_EISDIR: {
    title: 'Path is a directory',
    errno: 'EISDIR',
    node: (src) => `${src} is a directory (not copied)`,
    nodeSync: (_text, src) => `Recursive option not enabled, cannot copy a directory: ${src}`,
    fsExtra: (src) => `${src} is a directory (not copied)`, // fs-extra always copies it
  },
  ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY: {
    title: 'Cannot overwrite symlink in subdirectory of self',
    errno: 'EINVAL',
    node: (src, dest, targetOf) => `cannot overwrite ${targetOf(dest)} with ${targetOf(src)}`,
    nodeSync: (text) => text,
    fsExtra: (src, dest, targetOf) =>
      `Cannot overwrite '${targetOf(dest)}' with '${targetOf(src)}'.`,
  },
};

const invalid = { title: 'Invalid src or dest', errno: 'EINVAL' } as const;
/** The same for the reasons of ERR_FS_CP_EINVAL. */
const invalidRefusals: Record<string, Refusal | undefined> = {
  [reasons.same]: {
    ...invalid,
    node: () => 'src and dest cannot be the same',
    nodeSync: (text, _src, dest) => `${text} ${dest}`,
    fsExtra: () => 'Source and destination must not be the same.',
  },
  [reasons.inside]: {
    ...invalid,
    node: (src, dest) => `cannot copy ${src} to a subdirectory of self ${dest}`,
    nodeSync: capitalized,
    fsExtra: (src, dest) => `Cannot copy '${src}' to a subdirectory of itself, '${dest}'.`,
  },
  [reasons.aboveOld]: {
    ...invalid,
    node: (src, dest, targetOf) =>
      `cannot copy ${targetOf(src)} to a subdirectory of self ${targetOf(dest)}`,
    fsExtra: (src, dest, targetOf) =>
      `Cannot copy '${targetOf(src)}' to a subdirectory of itself, '${targetOf(dest)}'.`,
  },
};

function refusalOf({ code, reason = '' }: CopyError): Refusal | undefined {
  if (code !== 'ERR_FS_CP_EINVAL') return refusals[code];
  // Node has no check for the other reasons, and no words.
  const other = { ...invalid, node: () => reason, fsExtra: () => `${capitalized(reason)}.` };
  return invalidRefusals[reason] ?? other;
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

  constructor(code: string, { title, errno }: Refusal, why: string, shown: string) {
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

/** Converts an error to that of fs.cp and fs.promises.cp, or of fs.cpSync. Relative paths in it are below `base`. */
export function nodeError(error: CopyError, form: Form, { base, rules }: Call): Error {
  const refusal = refusalOf(error);
  const targetOf = (symlink: string): string => {
    const target = readAgain(symlink, base);
    const isVerbatim = rules.verbatimSymlinks && symlink === error.path;
    return isVerbatim ? target : path.resolve(base, path.dirname(symlink), target);
  };
  if (!refusal) return systemError(error, targetOf, base);
  const { code, path: src = '', dest = '' } = error;
  const why = refusal.node(src, dest, targetOf);
  if (form === 'sync' && refusal.nodeSync) {
    return Object.assign(new Error(refusal.nodeSync(why, src, dest)), { code });
  }
  return new SystemError(code, refusal, why, code === 'ERR_FS_EISDIR' ? src : dest);
}

/** Converts an error to that of fs-extra, whose own errors have no code. */
export function fsExtraError(error: CopyError, _form: Form, { base }: Call): Error {
  const refusal = refusalOf(error);
  const targetOf = (symlink: string): string => readAgain(symlink, base);
  if (!refusal) return systemError(error, targetOf, base);
  return new Error(refusal.fsExtra(error.path ?? '', error.dest ?? '', targetOf));
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
function systemError(error: CopyError, targetOf: TargetOf, base: string): Error {
  // What the system would say.
  const isAppendOnly = error.code === 'ERR_FASTCP_APPEND_ONLY';
  const code = isAppendOnly ? 'EPERM' : error.code;
  const errno = isAppendOnly ? -constants.errno.EPERM : error.errno;
  const { syscall = '', dest } = error;
  const src = (syscall === 'symlink' ? targetOf(error.path ?? '') : error.path) ?? '';
  if (errno === undefined || code.startsWith('ERR_')) {
    delete error.result; // a field of fastcp's own
    return error;
  }
  const [call, operands] =
    syscall === 'open'
      ? callBeforeOpen(path.resolve(base, src), code)
      : (calls[syscall] ?? ['copyfile', 'both']);
  const text = getSystemErrorMap().get(errno)?.[1] ?? error.reason ?? '';
  const where =
    operands === 'both' && dest !== undefined
      ? { path: src, dest }
      : { path: operands === 'dest' ? (dest ?? src) : src };
  const shown = Object.values(where).map((one) => `'${one}'`);
  const message = `${code}: ${text}, ${call} ${shown.join(' -> ')}`;
  return Object.assign(new Error(message), { errno, code, syscall: call, ...where });
}
