/** Formats the bar's line: columns whose widths do not change from one frame to the next. */
import type { CopyProgress } from '../lib/types.js';
import { bytes, clock, number, perSecond } from './format.js';

const WIDEST_BAR = 30;
const NARROWEST_BAR = 8;
const GAP = '  ';

/** The number of entries that may be in work at a time. */
const IN_WORK = 64;

interface Shown {
  /** The copy may delete entries. */
  deletes: boolean;
  /** Milliseconds until the end; undefined while unknown. */
  left: number | undefined;
  /** Nothing is in work any more. */
  ended?: boolean;
}

/** As wide as in other lines of the same `total`. */
interface Column {
  /** The order in which columns get room if not all have room. */
  rank: number;
  text: string;
}

/**
 * Returns the number of finished entries. An entry counts as scanned when work on it begins, and in another
 * counter when it is finished. Failed entries and directories that DEST had are in no other counter. Only their
 * number distinguishes them from entries in work.
 */
export function entriesDone(state: CopyProgress): number {
  const { scanned, files, directories, symlinks, hardLinks, special, unchanged, skipped } = state;
  const finished = files + directories + symlinks + hardLinks + special + unchanged + skipped;
  // At most `scanned`, because a mount point is both a directory and skipped.
  return Math.min(scanned, Math.max(finished, scanned - IN_WORK));
}

/** Returns how much of the work is done: in entries, or in bytes if only files were named. */
export function workOf(
  state: CopyProgress,
  ended = false,
): { done: number; total: number | undefined } {
  const { bytes: done, totalBytes } = state;
  if (totalBytes) return { done: Math.min(done, totalBytes), total: totalBytes };
  return { done: ended ? state.scanned : entriesDone(state), total: state.total };
}

/**
 * Returns one line without colours that is shorter than `width`. The bar gets the room that the columns leave.
 */
export function progressLine(state: CopyProgress, width: number, shown: Shown): string {
  // The last column stays empty, because some terminals wrap as soon as it is written.
  const room = Math.max(width - 1, 0);
  const { done, total } = workOf(state, shown.ended);
  const columns = columnsOf(state, done, shown);
  if (total === undefined) return fitting(columns, room).slice(0, room);
  const part = Math.min(done / Math.max(total, 1), 1);
  const percent = `${Math.floor(100 * part)}%`.padStart(4);
  const beside = room - `[]${GAP}${percent}${GAP}`.length;
  const text = fitting(columns, beside - NARROWEST_BAR);
  const length = Math.min(WIDEST_BAR, beside - text.length);
  if (length < NARROWEST_BAR) return `${percent}${GAP}${text}`.slice(0, room);
  const filled = Math.floor(length * part);
  const bar = `[${'='.repeat(filled)}${'-'.repeat(length - filled)}]`;
  return `${bar}${GAP}${percent}${GAP}${text}`.trimEnd();
}

/** Returns the columns in the order in which they are shown. */
function columnsOf(state: CopyProgress, done: number, { deletes, left }: Shown): Column[] {
  const { durationMs, total, totalBytes, files, deleted } = state;
  const of = total === undefined ? '' : `/${number(total)}`;
  const entries = number(done).padStart(of === '' ? 9 : of.length - 1);
  const remaining = left === undefined ? '' : `${clock(left)} left`;
  return [
    ...(totalBytes ? [] : [{ rank: 0, text: `${entries}${of} entries` }]),
    ...(deletes ? [{ rank: 2, text: `${number(deleted).padStart(7)} deleted` }] : []),
    {
      rank: totalBytes ? 0 : 3,
      text: size(state.bytes) + (totalBytes ? `/${size(totalBytes).trim()}` : ''),
    },
    { rank: 4, text: `${size(perSecond(state.bytes, durationMs))}/s` },
    ...(totalBytes
      ? []
      : [{ rank: 5, text: `${number(perSecond(files, durationMs)).padStart(7)} files/s` }]),
    { rank: 6, text: `${clock(durationMs).padStart(5)} elapsed` },
    ...(of === '' ? [] : [{ rank: 1, text: remaining.padStart(10) }]),
  ];
}

function size(value: number): string {
  return bytes(value)
    .replace(/ bytes?$/, ' B')
    .padStart(7);
}

/** Returns as many columns as have room, by rank, and at least the first. */
function fitting(columns: Column[], room: number): string {
  const text = columns.map((column) => column.text).join(GAP);
  if (text.length <= room || columns.length === 1) return text;
  const last = Math.max(...columns.map(({ rank }) => rank));
  return fitting(
    columns.filter(({ rank }) => rank < last),
    room,
  );
}
