/** The result so far, read from a running job. Every outcome has the same shape. */

import { errorOf, lossWarning, warningOf } from '../errors/from-engine.js';
import { now } from '../io/clock.js';
import type { ShownPaths } from '../paths.js';
import type {
  CopyCounters,
  CopyErrorLike,
  CopyProgress,
  CopyResult,
  CopyWarning,
} from '../types.js';
import { EventQueue } from './events.js';
import { lossKinds, type NativeJob } from './native.js';

/** Converts the counters of the engine, in the order of Count in binding/src/engine/base/report.h. */
function countersOf(numbers: Iterable<number>): CopyCounters {
  const [scanned = 0, files = 0, directories = 0, symlinks = 0, hardLinks = 0, ...rest] = numbers;
  const [special = 0, bytes = 0, clone = 0, copyFileRange = 0, readWrite = 0, ...last] = rest;
  const [unchanged = 0, skipped = 0, deleted = 0] = last;
  return {
    ...{ scanned, files, directories, symlinks, hardLinks, special, bytes },
    methods: { clone, copyFileRange, readWrite },
    ...{ unchanged, skipped, deleted },
  };
}

/** Only the changes since the last look. */
export interface News {
  errors: CopyErrorLike[];
  warnings: CopyWarning[];
}

/** Updates the result of a job, and tells its own errors and warnings to the reader of events. */
export class Report {
  constructor(readonly events = new EventQueue()) {}

  #counters = countersOf([]);
  #errors: CopyErrorLike[] = [];
  #warnings: CopyWarning[] = [];
  // Errors that the engine does not know.
  #ownErrors = 0;
  #ownWarnings = 0;
  #errorCount = 0;
  #warningCount = 0;
  #began = now();
  #ended: number | undefined;
  /** The stack of the call, if its errors get that. */
  declare stack?: string;
  /** Snapshots are taken without the engine. */
  snapshots = 0;
  /** The number of entries to scan; undefined while it is unknown. */
  total: number | undefined;
  /** The number of bytes to copy, if every source is a file. */
  totalBytes: number | undefined;
  /** Undefined unless DEST is replaced as a whole. */
  replaced: boolean | undefined;
  /** Undefined unless this is a copy between worktrees. */
  leftOut: string[] | undefined;
  /** Whether an error that ended the copy says so. */
  saysEnd = true;

  warn(warning: CopyWarning): void {
    this.#warnings.push(warning);
    this.#ownWarnings += 1;
    this.#warningCount += 1;
    this.events.push({ type: 'warning', warning });
  }

  fail(error: CopyErrorLike): void {
    this.#add(error);
    this.events.push({ type: 'error', error });
  }

  /** Adds the error that ends the copy, unless it was reported. It is no event: the iteration throws it. */
  failWith(error: CopyErrorLike): void {
    if (!this.#errors.includes(error)) this.#add(error);
  }

  #add(error: CopyErrorLike): void {
    this.#errors.push(error);
    this.#ownErrors += 1;
    this.#errorCount += 1;
  }

  read(job: NativeJob, shown: ShownPaths): News {
    this.#counters = countersOf(job.counters());
    const errors = job.errors(this.#errors.length - this.#ownErrors);
    const warnings = job.warnings(this.#warnings.length - this.#ownWarnings);
    const news: News = {
      errors: errors.problems.map((problem) =>
        errorOf(
          problem,
          shown.src(problem.path),
          // Empty if only DEST is concerned.
          problem.dest.length > 0 ? shown.dest(problem.dest) : undefined,
          problem.ends && this.saysEnd ? ': this ended the copy' : '',
        ),
      ),
      warnings: warnings.problems.map((problem) => warningOf(problem, shown.src(problem.path))),
    };
    this.#errors.push(...news.errors);
    this.#errorCount = errors.count + this.#ownErrors;
    this.#warnings.push(...news.warnings);
    this.#warningCount = warnings.count + this.#ownWarnings;
    return news;
  }

  /** Returns warnings about lost metadata. Call it once, after the last read(). */
  readLosses(job: NativeJob, shown: ShownPaths): CopyWarning[] {
    const warnings: CopyWarning[] = [];
    for (const [index, { count, first }] of job.losses().entries()) {
      const kind = lossKinds[index];
      if (!kind || !first) continue;
      const error = errorOf(first, shown.src(first.path), shown.dest(first.dest));
      warnings.push(lossWarning(kind, count, error));
    }
    this.#warnings.push(...warnings);
    this.#warningCount += warnings.length;
    return warnings;
  }

  get counters(): CopyCounters {
    return this.#counters;
  }

  /** Nothing but the directory itself was copied. */
  get isEmpty(): boolean {
    const { files, directories, symlinks, hardLinks, special, unchanged } = this.#counters;
    return directories <= 1 && files + symlinks + hardLinks + special + unchanged === 0;
  }

  get durationMs(): number {
    const ms = (this.#ended ?? now()) - this.#began;
    return Math.round(ms * 1000) / 1000;
  }

  get progress(): CopyProgress {
    const { scanned } = this.#counters;
    return {
      ...this.#counters,
      // Entries may be created after they were counted.
      ...(this.total !== undefined && { total: Math.max(this.total, scanned) }),
      ...(this.totalBytes !== undefined && { totalBytes: this.totalBytes }),
      durationMs: this.durationMs,
    };
  }

  end(): void {
    this.#ended ??= now();
  }

  get result(): CopyResult {
    return {
      ...this.#counters,
      snapshots: this.snapshots,
      ...(this.replaced !== undefined && { replaced: this.replaced }),
      ...(this.leftOut && { leftOut: this.leftOut }),
      errors: [...this.#errors],
      errorCount: this.#errorCount,
      warnings: [...this.#warnings],
      warningCount: this.#warningCount,
      durationMs: this.durationMs,
    };
  }
}
