import type { CopyResult } from '../../../lib/types.js';

/** A result in which nothing happened, but for what is given. */
export function resultWith(given: Partial<CopyResult> = {}): CopyResult {
  return {
    scanned: 0,
    files: 0,
    directories: 0,
    symlinks: 0,
    hardLinks: 0,
    special: 0,
    bytes: 0,
    methods: { clone: 0, copyFileRange: 0, readWrite: 0 },
    unchanged: 0,
    skipped: 0,
    deleted: 0,
    snapshots: 0,
    errors: [],
    errorCount: 0,
    warnings: [],
    warningCount: 0,
    durationMs: 0,
    ...given,
  };
}
