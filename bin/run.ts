import { copyTree } from '../lib/copy-tree.js';
import { CopyError } from '../lib/errors/copy-error.js';
import type { CopyErrorLike, CopyJob, CopyOptions } from '../lib/types.js';
import type { Invocation } from './args.js';
import type { Progress } from './bar.js';
import { errorText } from './error-text.js';
import { abortOnSignals, Interruption } from './interrupt.js';
import { Output } from './output.js';
import { createProgress, showsProgress } from './progress.js';
import { createTextReport, type Report } from './report.js';

/** Copies, reports, and returns the exit code. */
export async function run(invocation: Invocation): Promise<number> {
  const abort = new AbortController();
  const out = Output.to('stdout', abort.signal);
  const err = Output.to('stderr', abort.signal);

  // Before the copy begins: the default action would leave half a file.
  abortOnSignals(abort);
  const shows = showsProgress(invocation.output);
  const progress = createProgress(invocation.copy.mirror === true);
  const onProgress: CopyOptions['onProgress'] = (sofar) => progress.update(sofar);
  const report = await createReport(invocation, out, err, progress);
  let job: CopyJob;
  try {
    job = startCopy(invocation, { signal: abort.signal, ...(shows && { onProgress }) });
  } catch (error) {
    if (!(error instanceof CopyError)) throw error;
    await err.line(`fastcp: ${errorText(error)}`);
    if (invocation.output.json) {
      const { resultLine } = await import('./report-json.js');
      await out.line(resultLine('failed', 1, [error]));
    }
    return 1;
  }

  // At once, because a second signal must find no bar on the terminal.
  abort.signal.addEventListener('abort', () => progress.stop());
  try {
    const exitCode = await follow(job, report, progress);
    const { reason } = abort.signal;
    // A dry run prints its plan when it has ended.
    if (!invocation.copy.dryRun || exitCode > 0 || !(reason instanceof Interruption))
      return exitCode;
    await err.line('fastcp: interrupted');
    return reason.exitCode;
  } finally {
    progress.stop();
  }
}

async function createReport(
  invocation: Invocation,
  out: Output,
  err: Output,
  progress: Progress,
): Promise<Report> {
  const { output } = invocation;
  if (!output.json) return createTextReport(invocation, out, err, progress);
  const { createJsonReport } = await import('./report-json.js');
  return createJsonReport(output, out);
}

function startCopy({ sources, dest, copy }: Invocation, more: CopyOptions): CopyJob {
  const [first = ''] = sources;
  return copyTree(sources.length > 1 ? sources : first, dest, { ...copy, ...more });
}

async function follow(job: CopyJob, report: Report, progress: Progress): Promise<number> {
  const reported = new Set<unknown>();
  let broken: unknown;
  try {
    for await (const event of job) {
      if (event.type === 'error') reported.add(event.error);
      await report.event(event);
    }
  } catch (error) {
    broken = error;
  }
  const failure = await job.then(
    () => undefined,
    (error: unknown) => error,
  );
  // Not the copy's own failure, which the iteration may also throw, but a fault in this program.
  if (broken !== undefined && broken !== failure) throw broken;

  progress.stop();
  if (failure instanceof Interruption) {
    await report.end(job.result, 'interrupted', failure.exitCode);
    return failure.exitCode;
  }
  const { result } = job;
  if (failure !== undefined && !reported.has(failure)) {
    const error = failure as CopyErrorLike;
    await report.event({ type: 'error', error });
    // It is not an error of the copy, but for example a lack of memory in this program.
    if (!result.errors.includes(error)) result.errors.push(error);
    result.errorCount = Math.max(result.errorCount, 1);
  }
  const exitCode = failure === undefined && result.errorCount === 0 ? 0 : 1;
  await report.end(result, exitCode === 0 ? 'done' : 'failed', exitCode);
  return exitCode;
}
