import { compareTrees } from '../lib/compare-trees.js';
import { CopyError, fieldsOf } from '../lib/errors/copy-error.js';
import type { CompareResult, CopyErrorLike, Difference } from '../lib/types.js';
import type { Invocation } from './args.js';
import { errorText } from './error-text.js';
import { count, escapeControls, number, quoteName, toJsonLine } from './format.js';
import { abortOnSignals, Interruption } from './interrupt.js';
import { Output } from './output.js';
import type { Outcome } from './report.js';
import { resultLine } from './report-json.js';

/**
 * Prints how two trees differ. Returns 0 if they are equal, 1 if they differ, and 2 after an error or wrong
 * usage.
 */
export async function runCompare(invocation: Invocation): Promise<number> {
  const abort = new AbortController();
  const out = Output.to('stdout', abort.signal);
  const err = Output.to('stderr', abort.signal);
  abortOnSignals(abort);
  try {
    const result = await compare(invocation, abort.signal);
    const exitCode = exitCodeOf(result);
    if (invocation.output.json) await printJson(result, out);
    else await print(result, invocation, out, err);
    return exitCode;
  } catch (error) {
    const { json } = invocation.output;
    if (error instanceof Interruption) {
      const { exitCode } = error;
      if (json) await printEnd('interrupted', exitCode, [], out);
      else await err.line('fastcp: interrupted: the comparison is not complete');
      return exitCode;
    }
    if (!(error instanceof CopyError)) throw error;
    if (json) await printEnd('failed', 2, [error], out);
    else await err.line(complaint(error));
    return 2;
  } finally {
    await out.flush();
    await err.flush();
  }
}

function exitCodeOf({ errorCount, differences }: CompareResult): number {
  if (errorCount > 0) return 2;
  return differences.length > 0 ? 1 : 0;
}

function compare(invocation: Invocation, signal: AbortSignal): Promise<CompareResult> {
  const { sources, dest, copy } = invocation;
  const [a = ''] = sources;
  return compareTrees(a, dest, { ...copy, signal });
}

/** In the order of the totals: how a line begins, and what is counted. */
const kinds: Record<Difference['type'], [line: string, total: string]> = {
  content: ['differ:', 'differ'],
  metadata: ['differ in metadata:', 'differ in metadata'],
  onlyInA: ['only in', 'only in SRC'],
  onlyInB: ['only in', 'only in DEST'],
};

const complaint = (error: Error): string => `fastcp: ${errorText(error, 'compare')}`;

async function print(
  result: CompareResult,
  { output }: Invocation,
  out: Output,
  err: Output,
): Promise<void> {
  for (const error of result.errors) await err.line(complaint(error));
  if (output.quiet) return;
  for (const { message } of result.warnings) {
    await err.line(`fastcp: warning: ${escapeControls(message)}`);
  }
  for (const { type, a, b, metadata = [] } of result.differences) {
    const paths = type === 'onlyInA' ? [a] : type === 'onlyInB' ? [b] : [a, b];
    const what = metadata.length > 0 ? ` (${metadata.join(', ')})` : '';
    await out.line(`${kinds[type][0]} ${paths.map(quoteName).join(' and ')}${what}`);
  }
  if (result.differences.length === 0 && result.errorCount > 0) return;
  await out.line(totals(result));
}

/** Returns for example `2 differ, 1 only in DEST; 61 entries compared`. */
function totals({ differences, scanned }: CompareResult): string {
  const entries = count(scanned, 'entry', 'entries');
  const parts = Object.entries(kinds).flatMap(([wanted, [, text]]) => {
    const found = differences.filter(({ type }) => type === wanted).length;
    return found > 0 ? [`${number(found)} ${text}`] : [];
  });
  return parts.length === 0
    ? `no difference: ${entries}`
    : `${parts.join(', ')}; ${entries} compared`;
}

async function printJson(result: CompareResult, out: Output): Promise<void> {
  const { differences, ...rest } = result;
  for (const { type, ...one } of differences) {
    await out.line(toJsonLine({ type: 'difference', difference: type, ...one }));
  }
  for (const warning of result.warnings) {
    await out.line(toJsonLine({ type: 'warning', ...warning }));
  }
  const exitCode = exitCodeOf(result);
  const counters = { ...rest, differences: differences.length };
  await printEnd(exitCode === 2 ? 'failed' : 'done', exitCode, result.errors, out, counters);
}

/** `counters`: none if the comparison did not reach its end. 0 differences would look like equal trees. */
async function printEnd(
  outcome: Outcome,
  exitCode: number,
  errors: CopyErrorLike[],
  out: Output,
  counters?: object,
): Promise<void> {
  for (const error of errors) await out.line(toJsonLine({ type: 'error', ...fieldsOf(error) }));
  await out.line(resultLine(outcome, exitCode, errors, counters));
}
