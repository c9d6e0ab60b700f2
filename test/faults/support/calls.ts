import { constants } from 'node:os';

/** What a call may say on any file system, local or not; `usual` in the table of docs/reliability.md. */
export const USUAL = ['EIO', 'EACCES', 'EPERM', 'ENOMEM', 'EINVAL', 'ENOSYS', 'ESTALE'];
const ANY = [...USUAL.slice(0, 4), 'EINTR', ...USUAL.slice(4)];
/** To have a descriptor. */
const OPENS = ['EMFILE', 'ENFILE'];
/** To make a name. */
const MAKES = ['ENOSPC', 'EDQUOT', 'EROFS'];
const UNSUPPORTED = 'EOPNOTSUPP';

/** The engine's calls, as libc names them, and what may come of each. */
export const calls: Record<string, readonly string[]> = {
  'openat(O_DIRECTORY)': [...ANY, ...OPENS],
  'openat(O_CREAT)': [...ANY, ...OPENS, ...MAKES],
  'openat(O_TMPFILE)': [...ANY, ...OPENS, ...MAKES, UNSUPPORTED],
  openat: [...ANY, ...OPENS, 'EROFS', 'ETXTBSY'],
  getdents64: [...ANY, 'short'],
  fstat64: ANY,
  fstatat64: ANY,
  fstatfs64: ANY,
  statx: ANY,
  mkdirat: [...ANY, ...MAKES],
  symlinkat: [...ANY, ...MAKES],
  mknodat: [...ANY, ...MAKES, UNSUPPORTED],
  linkat: [...ANY, ...MAKES, 'EXDEV', UNSUPPORTED, 'EMLINK'],
  readlinkat: ANY,
  renameat: [...ANY, ...MAKES, 'EXDEV', 'EBUSY'],
  renameat2: [...ANY, ...MAKES],
  unlinkat: [...ANY, 'EROFS', 'EBUSY', 'ETXTBSY'],
  'ioctl(FICLONE)': [
    ...ANY,
    'ENOSPC',
    'EDQUOT',
    'EXDEV',
    UNSUPPORTED,
    'ENOTTY',
    'ETXTBSY',
    'EROFS',
  ],
  copy_file_range: [...ANY, ...MAKES, 'EXDEV', UNSUPPORTED, 'ETXTBSY', 'EFBIG', 'short', 'zero'],
  pread64: [...ANY, 'short', 'zero'],
  pwrite64: [...ANY, ...MAKES, 'EFBIG', 'short', 'zero'],
  lseek64: [...ANY, UNSUPPORTED],
  ftruncate64: [...ANY, ...MAKES, 'EFBIG', 'ETXTBSY'],
  close: ['EIO', 'EINTR', 'ENOSPC', 'EDQUOT', 'ESTALE'],
  fchmod: [...ANY, 'EROFS', UNSUPPORTED],
  chmod: [...ANY, 'EROFS', UNSUPPORTED],
  fchownat: [...ANY, 'EROFS', 'EDQUOT', UNSUPPORTED],
  futimens: [...ANY, 'EROFS'],
  utimensat: [...ANY, 'EROFS'],
  flistxattr: [...ANY, UNSUPPORTED, 'ERANGE'],
  fgetxattr: [...ANY, UNSUPPORTED, 'ENODATA'],
  fsetxattr: [...ANY, ...MAKES, UNSUPPORTED],
  fremovexattr: [...ANY, 'EROFS', UNSUPPORTED],
  listxattr: [...ANY, UNSUPPORTED],
  getxattr: [...ANY, UNSUPPORTED, 'ENODATA'],
  setxattr: [...ANY, ...MAKES, UNSUPPORTED],
  removexattr: [...ANY, 'EROFS', UNSUPPORTED],
  flock: ANY,
  fsync: [...ANY, 'ENOSPC', 'EDQUOT', 'EROFS'],
  sync_file_range: ANY,
  posix_fadvise64: ANY,
};

/** How errors name the calls that libc has several names for. */
export const shownAs: Record<string, readonly string[]> = {
  'openat(O_DIRECTORY)': ['open', 'fsync', 'fchmod'],
  'openat(O_CREAT)': ['open'],
  'openat(O_TMPFILE)': ['open'],
  openat: ['open'],
  fstat64: ['fstat', 'lstat'],
  fstatat64: ['lstat', 'stat'],
  mkdirat: ['mkdir'],
  symlinkat: ['symlink'],
  mknodat: ['mknod'],
  linkat: ['link', 'rename'],
  readlinkat: ['readlink'],
  renameat: ['rename'],
  renameat2: ['rename'],
  unlinkat: ['unlink', 'rmdir'],
  pread64: ['read'],
  pwrite64: ['write'],
  lseek64: ['lseek'],
  ftruncate64: ['ftruncate'],
  chmod: ['fchmod'],
  fchownat: ['fchown'],
  futimens: ['utimensat'],
  flistxattr: ['listxattr'],
  fgetxattr: ['getxattr'],
  fsetxattr: ['setxattr'],
  fremovexattr: ['removexattr'],
};

/** As the shim takes it. */
export function whatOf(fault: string): string {
  if (fault === 'short' || fault === 'zero') return fault;
  const errno = (constants.errno as Record<string, number>)[fault];
  if (errno === undefined) throw new Error(`unknown errno ${fault}`);
  return `${errno}`;
}
