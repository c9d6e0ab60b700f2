import type { CopyResult } from '../../../lib/types.js';

/** A result in which nothing happened, but for what is given. */
export function resultWith(given: Partial<CopyResult> = {}): CopyResult {
  return {
    found: 0,
    files: 0,
    directories: 0,
    links: 0,
    special: 0,
    bytes: 0,
    cloned: 0,
    kernelCopied: 0,
    copied: 0,
    hardLinked: 0,
    skipped: 0,
    removed: 0,
    snapshots: 0,
    errors: [],
    errorCount: 0,
    warnings: [],
    warningCount: 0,
    durationMs: 0,
    ...given,
  };
}
