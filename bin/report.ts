import type { CopyEvent, CopyResult, EntryEvent } from '../lib/types.js';
import type { Invocation, OutputOptions } from './args.js';
import type { Progress } from './bar.js';
import {
  bytes,
  count,
  duration,
  escapeControls,
  number,
  perSecond,
  quoteName,
  systemCopy,
} from './format.js';
import type { Output } from './output.js';

/** What becomes of events and of the result. Each promise resolves when the reader takes more. */
export interface Report {
  event(event: CopyEvent): Promise<void>;
  end(result: CopyResult, outcome: Outcome): Promise<void>;
}

/** `stopped`: by an error, before everything had been looked at. */
export type Outcome = 'done' | 'stopped' | 'interrupted';

/** Text for people: entries and the summary on `out`, all that went wrong on `err`. */
export function createTextReport(
  { dest: given, copy, output }: Invocation,
  out: Output,
  err: Output,
  progress: Progress,
): Report {
  const dest = given.toString();
  let errorsShown = 0;
  let halfway = false;

  async function complain(text: string): Promise<void> {
    progress.clear();
    await err.line(`fastcp: ${escapeControls(text)}`);
    // At once, while the bar is away.
    await err.flush();
  }

  return {
    async event(event) {
      if (event.type === 'error') {
        errorsShown++;
        halfway ||= event.error.code === 'ERR_FASTCP_HALFWAY';
        await complain(event.error.message);
      } else if (event.type === 'warning' && !output.quiet) {
        await complain(`warning: ${event.warning.message}`);
      } else if (event.type === 'entry' && isWanted(event, output)) {
        await out.line(entryLine(event));
      }
    },

    async end(result, outcome) {
      if (result.errorCount > errorsShown) {
        await complain(
          `${count(result.errorCount, 'error')}, ${number(errorsShown)} of them shown`,
        );
      }
      const failed = outcome !== 'done' || result.errorCount > 0;
      if (result.replaced === false && failed) {
        const what = outcome === 'done' ? 'not complete' : outcome;
        // An error has told what else it is.
        if (!halfway) await complain(`${what}: ${quoteName(dest)} was left as it was`);
      } else if (result.replaced && failed) {
        await complain(`${quoteName(dest)} was replaced`);
      } else if (outcome !== 'done') {
        const left = incomplete(result, outcome, copy.dryRun ? undefined : dest);
        if (left !== undefined) await complain(left);
      } else if (!output.quiet) {
        await out.line(copy.dryRun ? wouldCopy(result) : summary(result));
      }
      await out.flush();
    },
  };
}

/** Whether an entry is to be printed. */
export function isWanted({ action }: EntryEvent, { entries, left }: OutputOptions): boolean {
  return action === 'exclude' ? left : entries;
}

/** `copy a -> b`, or `exclude a.log (.gitignore:3:*.log)` */
function entryLine({ action, path, dest, reason }: EntryEvent): string {
  if (action === 'delete') return `delete ${quoteName(dest)}`;
  if (action === 'exclude') return `exclude ${quoteName(path)} (${escapeControls(reason ?? '')})`;
  return `${action} ${quoteName(path)} -> ${quoteName(dest)}`;
}

/** Undefined where nothing was done and the error has said all. */
export function incomplete(
  result: CopyResult,
  outcome: Outcome,
  dest: string | undefined,
): string | undefined {
  if (dest === undefined) return outcome === 'interrupted' ? outcome : undefined;
  const untouched = result.files + result.directories + result.symlinks + result.special === 0;
  if (untouched && outcome === 'stopped') return undefined;
  return `${outcome}: ${count(result.files, 'file')} copied, ${quoteName(dest)} is incomplete`;
}

/** `3 files, 1 directory, 12 kB in 2.9 s (45,000 files/s): 1 cloned, 2 read and written; 1 error` */
export function summary(result: CopyResult): string {
  const { durationMs, methods } = result;
  const rate = `${number(perSecond(result.files, durationMs))} files/s`;
  const ways = [
    methods.clone && `${number(methods.clone)} cloned`,
    methods.copyFileRange && `${number(methods.copyFileRange)} by ${systemCopy}`,
    methods.readWrite && `${number(methods.readWrite)} read and written`,
  ];
  // A rate taken from a few milliseconds says nothing.
  const pace = durationMs >= 1000 && result.files > 0 ? ` (${rate})` : '';
  const how = list(ways);
  return `${made(result)} in ${duration(durationMs)}${pace}${how && `: ${how}`}${rest(result)}`;
}

export function wouldCopy(result: CopyResult): string {
  return `would copy ${made(result)}${rest(result)}`;
}

function made(result: CopyResult): string {
  const parts = [
    result.snapshots && count(result.snapshots, 'snapshot'),
    result.files && count(result.files, 'file'),
    result.directories && count(result.directories, 'directory', 'directories'),
    result.symlinks && count(result.symlinks, 'symlink'),
    result.special && count(result.special, 'special file'),
    result.hardLinks && count(result.hardLinks, 'hard link'),
    result.bytes && bytes(result.bytes),
  ];
  return list(parts) || 'nothing';
}

function rest(result: CopyResult): string {
  const parts = [
    result.unchanged && `${number(result.unchanged)} unchanged`,
    result.skipped && `${number(result.skipped)} skipped`,
    result.deleted && `${number(result.deleted)} deleted`,
    result.errorCount && count(result.errorCount, 'error'),
  ];
  return list(parts) && `; ${list(parts)}`;
}

/** Zeros are left out. */
function list(parts: readonly (string | number)[]): string {
  return parts.filter(Boolean).join(', ');
}
