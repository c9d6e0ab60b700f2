import { type Contender, contender } from './contenders.js';
import type { Trial } from './measure.js';
import type { RowResult } from './results.js';
import { median, ratio, type Spread } from './statistics.js';
import { type Workload, workloads } from './workloads.js';

/** A row as it was measured, joined with what is wanted of it. */
export interface Judged {
  result: RowResult;
  workload: Workload;
  fileSystem: string;
}

/** Undefined for a row that there is no more. */
export function withWorkload(result: RowResult): Judged | undefined {
  const [name, fileSystem = ''] = result.id.split('/');
  const workload = workloads.find(
    (one) => one.name === name && one.fileSystems.some((other) => other === fileSystem),
  );
  return workload && { result, workload, fileSystem };
}

/** A contender's trials that ended well, or undefined where one did not or there are none. */
export function trialsOf({ result }: Judged, name: string): Trial[] | undefined {
  const trials = result.trials[name] ?? [];
  return trials.length > 0 && trials.every(({ failed }) => !failed) ? trials : undefined;
}

/** The times that a row compares, in milliseconds. */
export function timesOf(row: Judged, name: string): number[] | undefined {
  return trialsOf(row, name)?.map((trial) =>
    row.workload.inProcess ? (trial.inProcessMs ?? trial.wallMs) : trial.wallMs,
  );
}

export interface Comparison {
  /** How many times as long as the subject it takes. */
  plain: Spread;
  /** With Node's start added to a command that does not pay it. Else as `plain`. */
  fair: Spread;
}

export function compare(row: Judged, name: string): Comparison | undefined {
  const subject = timesOf(row, row.workload.subject);
  const times = timesOf(row, name);
  if (!subject || !times) return undefined;
  const plain = ratio(times, subject);
  const start = startOf(row);
  const paysStart = !isNative(contender(name)) || row.workload.inProcess;
  if (paysStart || start === undefined) return { plain, fair: plain };
  return {
    plain,
    fair: ratio(
      times.map((ms) => ms + start),
      subject,
    ),
  };
}

const isNative = ({ role }: Contender): boolean => role === 'peer' || role === 'limit';

/** Node's start, in milliseconds. */
export function startOf(row: Judged): number | undefined {
  const times = timesOf(row, 'node');
  return times && median(times);
}

/** Of the peers whose copies were whole. */
export function fastest(row: Judged): string | undefined {
  const peers = Object.entries(row.result.trials)
    .filter(([name, trials]) => contender(name).role === 'peer' && trials.every((one) => !one.flaw))
    .flatMap(([name]) => {
      const times = timesOf(row, name);
      return times ? [{ name, time: median(times) }] : [];
    });
  return peers.sort((a, b) => a.time - b.time)[0]?.name;
}
