/** Says more about an error of the system: its cause, and what helps. */
import { existsSync, lstatSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasons } from './copy-error.js';

/** Returns what is known about a failed call on `path`, or from `path` to `dest`. */
export function adviceOn(
  code: string,
  operation: string,
  path: string,
  dest?: string,
): string | undefined {
  return (
    knownAdvice(code, operation) ??
    causeAt(code, operation, path, dest) ??
    (dest ? deniedEnd(code, operation) : undefined)
  );
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

function knownAdvice(code: string, operation: string): string | undefined {
  // The entry itself has its name already.
  if (operation === 'rename' && code === 'ENAMETOOLONG') return 'that of the backup';
  if (clones.includes(operation)) return 'the file cannot be cloned';
  if (process.platform === 'win32') return windowsAdvice[`${code} ${operation}`];
  const isLost = process.platform === 'linux' && code === 'ENOENT' && throughProc.test(operation);
  return isLost && !existsSync('/proc/self') ? needsProc : undefined;
}

/** Returns the part of a path that may be an archive, in which only a patched `fs` finds entries. */
export function archiveIn(path: string): string | undefined {
  return /^.*?\.(zip|asar)(?=[\\/])/s.exec(path)?.[0];
}

/** The system calls that create an entry in DEST. */
const creations = ['open dest', 'mkdir', 'symlink', 'link'];

/** Looks for the cause of an error whose code has several. */
function causeAt(code: string, operation: string, path: string, dest = path): string | undefined {
  const names = ['rename', 'unlink', 'rmdir'].includes(operation); // changes an existing name
  const look = (at: string) => lstatSync(at, { throwIfNoEntry: false });
  try {
    if (code === 'ENOENT' && ['stat', 'open source'].includes(operation))
      return look(path)?.isSymbolicLink() ? reasons.dangling : undefined;
    const archive = archiveIn(path);
    if (code === 'ENOTDIR' && archive && look(archive)?.isFile()) return reasons.archive;
    if (code === 'EBUSY' && names && process.platform === 'linux')
      return 'it is a mount point, which can be neither replaced nor deleted';
    const own = process.geteuid?.() ?? 0;
    if (code === 'EPERM' && names && own !== 0) {
      const [entry, above] = [look(dest), look(dirname(dest))];
      const isOthers = entry?.uid !== own && above?.uid !== own;
      if (isOthers && (above?.mode ?? 0) & 0o1000)
        return 'its directory is sticky, and the entry belongs to another user';
    }
    if (code === 'EPERM' && operation === 'mknod' && own !== 0) {
      const entry = look(path);
      if (entry?.isBlockDevice() || entry?.isCharacterDevice()) return 'a device needs root';
    }
    if (code === 'ENOSPC' && operation !== 'setxattr') {
      const { files, ffree } = statfsSync(dirname(dest));
      if (files > 0 && ffree === 0) return 'its file system has no inode left (df -i)';
    }
    const above = creations.includes(operation) ? look(dirname(dest)) : undefined;
    if (code === 'EACCES' && above?.uid === own && (above.mode & 0o300) !== 0o300)
      return `its directory denies writing to its owner; 'chmod u+wx' allows it`;
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
  const isTelling =
    operation === 'open dest' || (code === 'EACCES' && creations.includes(operation));
  return isTelling ? 'the destination cannot be written' : undefined;
}
