import { fieldsOf } from '../lib/errors/copy-error.js';
import type { CopyErrorLike, CopyEvent } from '../lib/types.js';
import type { OutputOptions } from './args.js';
import { toJsonLine } from './format.js';
import type { Output } from './output.js';
import { isWanted, type Outcome, type Report } from './report.js';

const PROGRESS_INTERVAL_MS = 100;

/** The version of the format. A higher number means that programs that read it must be checked. */
const jsonVersion = 1;

/**
 * Writes JSON for programs, one object per line, to `out`. The last object is the result, for every outcome.
 */
export function createJsonReport(options: OutputOptions, out: Output): Report {
  let nextProgress = 0;

  function isDue(event: CopyEvent): boolean {
    if (event.type === 'entry') return isWanted(event, options);
    if (event.type !== 'progress') return true;
    if (options.progress !== true || event.durationMs < nextProgress) return false;
    nextProgress = event.durationMs + PROGRESS_INTERVAL_MS;
    return true;
  }

  return {
    async event(event) {
      if (isDue(event)) await out.line(toJsonLine(serializeEvent(event)));
    },
    async end(result, outcome, exitCode) {
      await out.line(resultLine(outcome, exitCode, result.errors, result));
      await out.flush();
    },
  };
}

/** The last line. */
export function resultLine(
  outcome: Outcome,
  exitCode: number,
  errors: CopyErrorLike[],
  counters: object = {},
): string {
  const beginning = { type: 'result', version: jsonVersion, outcome, exitCode };
  return toJsonLine({ ...beginning, ...counters, errors: errors.map(fieldsOf) });
}

/** The only line after wrong usage, in the words of the command line. */
export function usageLine(message: string): string {
  const error = Object.assign(new Error(message), { code: 'ERR_INVALID_ARG_VALUE' });
  return resultLine('failed', 2, [error]);
}

export function serializeEvent(event: CopyEvent): object {
  if (event.type === 'error') return { type: 'error', ...fieldsOf(event.error) };
  if (event.type === 'warning') return { type: 'warning', ...event.warning };
  return event;
}
