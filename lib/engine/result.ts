/** What has been done, read from a running job: one shape for every outcome. */

import { errorOf, lossWarning, warningOf } from '../errors.js';
import type { CopyCounters, CopyErrorLike, CopyResult, CopyWarning } from '../types.js';
import type { Shown } from '../walk/paths.js';
import { now } from './clock.js';
import { lossKinds, type NativeJob } from './native.js';

/** The order of Count in binding/src/engine/base/report.h. */
const names = [
  'found',
  'files',
  'directories',
  'links',
  'special',
  'bytes',
  'cloned',
  'kernelCopied',
  'copied',
  'hardLinked',
  'skipped',
  'removed',
] as const satisfies readonly (keyof CopyCounters)[];

/** Only what is new since the last look. */
export interface News {
  errors: CopyErrorLike[];
  warnings: CopyWarning[];
}

/** Keeps the result of a job up to date. */
export class Report {
  #counters = Object.fromEntries(names.map((name) => [name, 0])) as unknown as CopyCounters;
  #errors: CopyErrorLike[] = [];
  #warnings: CopyWarning[] = [];
  // Those that the engine knows nothing of.
  #ownErrors = 0;
  #ownWarnings = 0;
  #errorCount = 0;
  #warningCount = 0;
  #began = now();
  #ended: number | undefined;
  /** Taken without the engine. */
  snapshots = 0;
  /** Undefined where nothing is replaced as a whole. */
  replaced: boolean | undefined;

  constructor(warnings: CopyWarning[]) {
    for (const warning of warnings) this.warn(warning);
  }

  warn(warning: CopyWarning): void {
    this.#warnings.push(warning);
    this.#ownWarnings += 1;
    this.#warningCount += 1;
  }

  fail(error: CopyErrorLike): void {
    this.#errors.push(error);
    this.#ownErrors += 1;
    this.#errorCount += 1;
  }

  read(job: NativeJob, shown: Shown): News {
    const counters = job.counters();
    names.forEach((name, index) => {
      this.#counters[name] = counters[index] ?? 0;
    });
    const errors = job.errors(this.#errors.length - this.#ownErrors);
    const warnings = job.warnings(this.#warnings.length - this.#ownWarnings);
    const news: News = {
      errors: errors.problems.map((problem) =>
        errorOf(problem, shown.src(problem.path), shown.dest(problem.dest)),
      ),
      warnings: warnings.problems.map((problem) => warningOf(shown.src(problem.path))),
    };
    this.#errors.push(...news.errors);
    this.#errorCount = errors.count + this.#ownErrors;
    this.#warnings.push(...news.warnings);
    this.#warningCount = warnings.count + this.#ownWarnings;
    return news;
  }

  /** To be called once, after the last read(): what was not preserved. */
  readLosses(job: NativeJob, shown: Shown): CopyWarning[] {
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

  get durationMs(): number {
    const ms = (this.#ended ?? now()) - this.#began;
    return Math.round(ms * 1000) / 1000;
  }

  end(): void {
    this.#ended ??= now();
  }

  get result(): CopyResult {
    return {
      ...this.#counters,
      snapshots: this.snapshots,
      ...(this.replaced !== undefined && { replaced: this.replaced }),
      errors: [...this.#errors],
      errorCount: this.#errorCount,
      warnings: [...this.#warnings],
      warningCount: this.#warningCount,
      durationMs: this.durationMs,
    };
  }
}
