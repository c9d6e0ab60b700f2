import { lstatSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { CopyEvent, CopyResult, EntryEvent } from '../lib/types.js';
import type { Invocation, OutputOptions } from './args.js';
import { isDirectory } from './arguments.js';
import type { Progress } from './bar.js';
import { errorText } from './error-text.js';
import { bytes, count, duration, escapeControls, number, perSecond, quoteName } from './format.js';
import type { Output } from './output.js';

/** Prints events and the result. Each promise resolves when the reader accepts more. */
export interface Report {
  event(event: CopyEvent): Promise<void>;
  end(result: CopyResult, outcome: Outcome, exitCode: number): Promise<void>;
}

/** `failed`: with at least one error. */
export type Outcome = 'done' | 'failed' | 'interrupted';

/** Prints text for people: entries and the summary on `out`, errors and warnings on `err`. */
export function createTextReport(
  { sources, dest: given, copy, output }: Invocation,
  out: Output,
  err: Output,
  progress: Progress,
): Report {
  const dest = given.toString();
  // A copy between worktrees fills DEST itself, slash or not.
  const into = copy.worktree && sources.length === 1 ? '' : placeInto(sources, dest);
  const verb = copy.verify ? 'Copied and verified' : 'Copied';
  const stops = copy.onError === 'stop';
  let errorsShown = 0;
  let halfway = false;
  const syncs = copy.sync || copy.mirror || copy.checksum || copy.quickCheck;
  const kept = syncs && copy.force !== false && !copy.update ? 'unchanged' : 'keep';
  const planned: { at: string; line: string }[] = []; // of a dry run, which prints them in order

  async function complain(text: string): Promise<void> {
    await err.line(`fastcp: ${text}`);
    progress.clear();
    await err.flush(); // at once, while the bar is hidden
  }

  return {
    async event(event) {
      if (event.type === 'error') {
        errorsShown++;
        halfway ||= event.error.code === 'ERR_FASTCP_HALFWAY';
        await complain(errorText(event.error, 'copy', output.all));
      } else if (event.type === 'warning' && !output.quiet) {
        const { message, code } = event.warning;
        await complain(`warning: ${escapeControls(message)}${output.all ? ` (${code})` : ''}`);
      } else if (event.type === 'entry' && isWanted(event, output)) {
        const word = event.kind === 'socket' ? 'skip' : kept;
        const at = copy.dryRun ? placeIn(dest, event) : undefined;
        const line = entryLine(event, word, at);
        if (at === undefined) await out.line(line);
        else planned.push({ at, line });
      }
    },

    async end(result, outcome) {
      planned.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
      for (const { line } of planned) await out.line(line);
      await out.flush(); // the next lines may go to standard error, and must be the last on a terminal
      if (result.errorCount > errorsShown) {
        await complain(
          `${count(result.errorCount, 'error')}, ${number(errorsShown)} of them shown`,
        );
      }
      const replaces = copy.atomic && !copy.dryRun;
      const full = outcome === 'failed' ? lackOfRoom(result) : undefined;
      const state = replaces ? stateAfterAtomic(result, outcome, dest) : undefined;
      if (state !== undefined) {
        // ERR_FASTCP_HALFWAY has already said where the old and the new tree are.
        if (!halfway) await complain(state);
      } else if (full !== undefined && !copy.dryRun) {
        const copied = `${count(result.files, 'file')} copied, ${quoteName(dest)} is incomplete`;
        await complain(`stopped: ${full}: ${isUntouched(result) ? 'nothing was copied' : copied}`);
      } else if (outcome === 'interrupted' || (outcome === 'failed' && stops)) {
        const left = incomplete(result, outcome, copy.dryRun ? undefined : dest);
        if (left !== undefined) await complain(left);
      } else if (!output.quiet && hasLooked(result)) {
        await out.line(
          copy.dryRun ? wouldCopy(result, into) : summary(result, output.entries, into, verb),
        );
        if (result.leftOut?.length) await out.line(notIncluded(result.leftOut));
      }
      await out.flush();
    },
  };
}

/** Returns where SRC lands if DEST is a directory that gets it: ` into out/src`. */
function placeInto(sources: Invocation['sources'], dest: string): string {
  const [src = ''] = sources;
  if (sources.length === 1 && !dest.endsWith('/')) return '';
  const isTree = sources.length === 1 && isDirectory(src);
  const at = isTree ? join(dest, basename(resolve(src.toString()))) : dest.replace(/(?!^)\/+$/, '');
  return ` into ${quoteName(at)}`;
}

/** Returns undefined if an atomic copy is done, or failed before it began: then the error has said everything. */
export function stateAfterAtomic(
  result: CopyResult,
  outcome: Outcome,
  dest: string,
): string | undefined {
  if (outcome === 'done') return undefined;
  if (result.replaced) return `${quoteName(dest)} was replaced`;
  if (outcome === 'failed' && result.replaced === undefined) return undefined;
  const what = outcome === 'failed' ? 'not complete' : outcome;
  const state = isMissing(dest) ? 'was not created' : 'was left as it was';
  return `${what}: ${quoteName(dest)} ${state}`;
}

function isMissing(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Returns why there was no room for the rest of the copy. An attribute without room is one error among others. */
function lackOfRoom({ errors }: CopyResult): string | undefined {
  const lacks: Record<string, string> = {
    ENOSPC: 'no space left on device',
    EDQUOT: 'disk quota exceeded',
  };
  const error = errors.find(({ code, syscall }) => code in lacks && syscall !== 'setxattr');
  return error && lacks[error.code];
}

/** If nothing was scanned, the error has said everything. */
function hasLooked(result: CopyResult): boolean {
  const { unchanged, skipped, deleted, errorCount } = result;
  return created(result) + unchanged + skipped + deleted > 0 || errorCount === 0;
}

/** Returns whether an entry has to be printed. */
export function isWanted({ action }: EntryEvent, { entries, all }: OutputOptions): boolean {
  return action === 'skip' || action === 'exclude' ? all : entries;
}

/** Returns for example `copy a -> b`, or `excluded a.log (.gitignore:3:*.log)`. `at`: the path to print instead. */
function entryLine(event: EntryEvent, kept: string, at?: string): string {
  const { action, path, dest, reason } = event;
  const word = action === 'skip' ? kept : words[action];
  if (action === 'exclude')
    return `${word} ${quoteName(at ?? path)} (${escapeControls(reason ?? '')})`;
  if (at !== undefined || action === 'delete' || action === 'skip')
    return `${word} ${quoteName(at ?? dest)}`;
  return `${word} ${quoteName(path)} -> ${quoteName(dest)}`;
}

/** Returns an entry's path relative to DEST. */
function placeIn(dest: string, event: EntryEvent): string {
  return relative(dest, event.dest) || (event.kind === 'directory' ? '.' : event.dest);
}

const words = {
  create: 'create',
  copy: 'copy',
  replace: 'replace',
  hardLink: 'hard-link',
  metadata: 'set-metadata',
  delete: 'delete',
  exclude: 'excluded',
} as const;

/** Returns undefined if nothing was done and the error has said everything. */
export function incomplete(
  result: CopyResult,
  outcome: Outcome,
  dest: string | undefined,
): string | undefined {
  if (dest === undefined) return outcome === 'interrupted' ? outcome : undefined;
  if (isUntouched(result)) {
    return outcome === 'failed' ? undefined : `${outcome}: nothing was copied`;
  }
  const what = outcome === 'failed' ? 'stopped' : outcome;
  return `${what}: ${count(result.files, 'file')} copied, ${quoteName(dest)} may be incomplete`;
}

/** Returns whether nothing in DEST was created, replaced or deleted. */
function isUntouched(result: CopyResult): boolean {
  return created(result) + result.deleted === 0;
}

/** Returns the number of entries that were created or replaced. */
function created(result: CopyResult): number {
  const { files, directories, symlinks, hardLinks, special, snapshots } = result;
  return files + directories + symlinks + hardLinks + special + snapshots;
}

/**
 * Returns for example `Copied 3 files, 1 directory, 12 kB in 2.9 s (45,000 files/s); 1 error`. With `methods` it says how:
 * `: 1 cloned, 2 read and written`.
 */
export function summary(result: CopyResult, methods = false, into = '', verb = 'Copied'): string {
  const { durationMs, unchanged, deleted, skipped, errorCount } = result;
  if (unchanged > 0 && created(result) + deleted + skipped + errorCount === 0) {
    return `Up to date: ${count(unchanged, 'entry', 'entries')} unchanged${into.replace(/^ into/, ' in')} (${duration(durationMs)})`;
  }
  const { clone, copyFileRange, readWrite } = result.methods;
  const how = list([
    clone && `${number(clone)} cloned`,
    copyFileRange && `${number(copyFileRange)} by copy_file_range`,
    readWrite && `${number(readWrite)} read and written`,
  ]);
  const took = `${result.files > 0 ? verb : 'Copied'} ${copied(result)}${into} in ${duration(durationMs)}`;
  const end = `${methods && how ? `: ${how}` : ''}${rest(result)}`;
  const line = `${took}${pace(result)}${end}`;
  return line.length <= 80 ? line : `${took}${end}`;
}

/** A rate over a few milliseconds means nothing. Large files make few per second. */
function pace({ durationMs, files, bytes: size }: CopyResult): string {
  if (durationMs < 1000 || files === 0) return '';
  const isLarge = size / files > 1e6;
  return isLarge
    ? ` (${bytes(perSecond(size, durationMs))}/s)`
    : ` (${number(perSecond(files, durationMs))} files/s)`;
}

function notIncluded(paths: readonly string[]): string {
  const more = paths.length > 5 ? ` and ${number(paths.length - 4)} more` : '';
  const shown = more ? paths.slice(0, 4) : paths;
  return `Left out by .worktreeinclude, wholly or in part: ${shown.map(quoteName).join(', ')}${more}`;
}

export function wouldCopy(result: CopyResult, into = ''): string {
  return `Would copy ${copied(result)}${into}${rest(result, 'to delete')}`;
}

function copied(result: CopyResult): string {
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

function rest(result: CopyResult, deleted = 'deleted'): string {
  const parts = [
    result.deleted && `${number(result.deleted)} ${deleted}`,
    result.unchanged && `${number(result.unchanged)} unchanged`,
    result.skipped && `${number(result.skipped)} skipped`,
    result.errorCount && count(result.errorCount, 'error'),
  ];
  return list(parts) && `; ${list(parts)}`;
}

/** Joins the parts, without zeros. */
function list(parts: readonly (string | number)[]): string {
  return parts.filter(Boolean).join(', ');
}
