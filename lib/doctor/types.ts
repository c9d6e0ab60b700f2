import type { CopyMethods } from '../types.js';

/** `marks`: see docs/again.md. */
export type Ability = 'reflink' | 'xattrs' | 'marks' | 'caseSensitive';

/** A method of copying the content of a file. */
export type CopyMethod = keyof CopyMethods;

export interface DoctorOptions {
  /** Ends the tries when it is aborted. Their files are removed first. */
  signal?: AbortSignal;
}

/** The result of doctor(). */
export interface Diagnosis {
  /** One for each directory that was passed. */
  directories: DirectoryDiagnosis[];
  /** How a file of 1 MiB is copied from the first directory to the last. Absent if nothing can be created in one of them. */
  method?: CopyMethod;
  /** Whether each of fastcp's threads has a table of file descriptors of its own, so that they do not wait for each other. */
  ownTables: boolean;
}

export interface DirectoryDiagnosis {
  path: string;
  /** `ext4`, `xfs`, …; empty if the system does not report it. */
  fileSystem: string;
  readOnly: boolean;
  /** Why nothing was tried. */
  obstacle?: string;
  /** The abilities that were tried: true, or the reason why the ability is missing. */
  can: Partial<Record<Ability, true | string>>;
}
