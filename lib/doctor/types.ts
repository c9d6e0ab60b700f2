import type { CopyMethods } from '../types.js';

export type Ability =
  | 'clone'
  | 'copyFileRange'
  | 'holes'
  | 'xattrs'
  | 'marks'
  | 'acls'
  | 'symlinks'
  | 'hardLinks'
  | 'caseSensitive'
  | 'exchange'
  | 'snapshots';

/** How the content of a file is copied. */
export type CopyMethod = keyof CopyMethods;

/** What doctor() found. */
export interface Diagnosis {
  /** Of each directory that was named. */
  directories: DirectoryDiagnosis[];
  /** How files are copied from the first directory to the last; absent where nothing may be written there. */
  copies?: CopyDiagnosis;
  limits: {
    /** Processors that may be used. */
    cores: number;
    /** Workers that libuv's pool has room for, over all copies of the process. */
    workers: number;
    /** Files that the process may have open. */
    descriptors?: number;
  };
}

export interface DirectoryDiagnosis {
  path: string;
  /** `ext4`, `xfs`, …; empty where the system does not tell. */
  fileSystem: string;
  mountPoint: string;
  readOnly: boolean;
  freeBytes: number;
  bytes: number;
  /** 0 where the file system does not count them. */
  freeInodes: number;
  inodes: number;
  /** Why nothing could be tried: the directory cannot be written to. */
  obstacle?: string;
  /** The bytes that a name may have. */
  longestName?: number;
  /** What was tried, by what came of it: true, or why it cannot be done. */
  can: Partial<Record<Ability, true | string>>;
}

export interface CopyDiagnosis {
  from: string;
  to: string;
  /** Files of less than 64 KiB. */
  small: CopyMethod;
  large: CopyMethod;
  why: string;
}
