import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Machine } from './machine.js';
import type { Trial } from './measure.js';
import type { Row } from './plan.js';
import type { Counts } from './trees.js';

/** What was measured, raw. Everything else (medians, ratios, targets) is made of it when it is shown. */
export interface Results {
  machine: Machine;
  rows: RowResult[];
}

export interface RowResult {
  id: string;
  measured: string;
  /** Of fastcp: its version, and the commit where it is known. */
  fastcp: string;
  tree: Counts;
  /** Images lay on the disk and not in memory. */
  onDisk: boolean;
  versions: Record<string, string>;
  /** By contender, in the order of rounds. */
  trials: Record<string, Trial[]>;
  /** Who could not run, and why. */
  leftOut: Record<string, string>;
}

export function load(path: string): Results | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results) : undefined;
}

/** Rows of the same machine stay beside the new ones; another machine's go. */
export function merge(
  before: Results | undefined,
  now: Results,
  order: Pick<Row, 'id'>[],
): Results {
  const same = before && JSON.stringify(before.machine) === JSON.stringify(now.machine);
  const rows = new Map((same ? before.rows : []).map((row) => [row.id, row]));
  for (const row of now.rows) rows.set(row.id, row);
  const place = (id: string): number => order.findIndex((row) => row.id === id);
  return { ...now, rows: [...rows.values()].sort((a, b) => place(a.id) - place(b.id)) };
}

/** One trial a line: a file that can be read, and compared with git. */
export function save(path: string, results: Results): void {
  const text = JSON.stringify(results, null, 1).replace(/\{[^{}[\]]*\}/g, (inner) =>
    inner.replace(/\n\s*/g, ' '),
  );
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, `${text}\n`);
  renameSync(`${path}.new`, path);
}
