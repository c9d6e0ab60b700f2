/** What has been done, read from a running job: one shape for every outcome. */
import { errorOf, warningOf } from './errors.js';
import type { NativeJob } from './native.js';
import type { CopyCounters, CopyErrorLike, CopyResult, CopyWarning } from './types.js';
import type { Shown } from './walk.js';

/** The order of Count in binding/src/engine/report.h. */
const names = [
  'found',
  'files',
  'folders',
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
  #warnings: CopyWarning[];
  #ownWarnings: number;
  #errorCount = 0;
  #warningCount: number;
  #began = performance.now();
  #ended: number | undefined;

  constructor(warnings: CopyWarning[]) {
    this.#warnings = [...warnings];
    this.#ownWarnings = warnings.length;
    this.#warningCount = warnings.length;
  }

  read(job: NativeJob, shown: Shown): News {
    const counters = job.counters();
    names.forEach((name, index) => {
      this.#counters[name] = counters[index] ?? 0;
    });
    const errors = job.errors(this.#errors.length);
    const warnings = job.warnings(this.#warnings.length - this.#ownWarnings);
    const news: News = {
      errors: errors.problems.map((problem) =>
        errorOf(problem, shown.src(problem.path), shown.dest(problem.dest)),
      ),
      warnings: warnings.problems.map((problem) => warningOf(shown.src(problem.path))),
    };
    this.#errors.push(...news.errors);
    this.#errorCount = errors.count;
    this.#warnings.push(...news.warnings);
    this.#warningCount = warnings.count + this.#ownWarnings;
    return news;
  }

  get counters(): CopyCounters {
    return this.#counters;
  }

  get durationMs(): number {
    const ms = (this.#ended ?? performance.now()) - this.#began;
    return Math.round(ms * 1000) / 1000;
  }

  end(): void {
    this.#ended ??= performance.now();
  }

  get result(): CopyResult {
    return {
      ...this.#counters,
      errors: [...this.#errors],
      errorCount: this.#errorCount,
      warnings: [...this.#warnings],
      warningCount: this.#warningCount,
      durationMs: this.durationMs,
    };
  }
}
