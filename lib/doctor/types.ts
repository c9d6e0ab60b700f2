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
  | 'exchange';

/** A method of copying the content of a file. */
export type CopyMethod = keyof CopyMethods;

/** The result of doctor(). */
export interface Diagnosis {
  /** One for each directory that was passed. */
  directories: DirectoryDiagnosis[];
  /** How files are copied from the first directory to the last. Absent if the last is not writable. */
  copies?: CopyDiagnosis;
  limits: {
    /** Processors that fastcp may use. */
    cores: number;
    /** Whether each of fastcp's threads has a table of file descriptors of its own, so that they do not wait for each other. */
    ownTables: boolean;
    /** File descriptors that the process may have open. */
    descriptors?: number;
  };
}

export interface DirectoryDiagnosis {
  path: string;
  /** `ext4`, `xfs`, …; empty if the system does not report it. */
  fileSystem: string;
  mountPoint: string;
  readOnly: boolean;
  freeBytes: number;
  bytes: number;
  /** Free inodes; 0 if the file system does not count them. */
  freeInodes: number;
  inodes: number;
  /** Why nothing could be tried: the directory is not writable. */
  obstacle?: string;
  /** The maximum number of bytes in a name. */
  longestName?: number;
  /** The abilities that were tried: true, or the reason why the ability is missing. */
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
