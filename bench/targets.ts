import {
  compare,
  fastest,
  type Judged,
  startOf,
  timesOf,
  trialsOf,
  withWorkload,
} from './compare.js';
import { contender } from './contenders.js';
import { atLeast, atMost, type Judgement, ms, times } from './judgement.js';
import { judgeAll } from './overall.js';
import type { RowResult } from './results.js';
import { median } from './statistics.js';
import { fastestPeer, type Target } from './workloads.js';

export interface Verdict extends Judgement {
  row: string;
}

/** Every target of the rows, and those over all of them. */
export function judge(results: RowResult[]): Verdict[] {
  const rows = results.flatMap((result) => withWorkload(result) ?? []);
  const verdicts = rows.flatMap((row) =>
    row.workload.targets.map((target) => ({
      row: row.result.id,
      ...judgeTarget(target, row, rows),
    })),
  );
  return [...verdicts, ...judgeAll(rows)];
}

function judgeTarget(target: Target, row: Judged, rows: Judged[]): Judgement {
  const { subject } = row.workload;
  switch (target.kind) {
    case 'faster': {
      const name = target.than === fastestPeer ? fastest(row) : target.than;
      const value = name && compare(row, name)?.fair.median;
      const who = name ? contender(name).title : '';
      const what = target.than === fastestPeer ? `${fastestPeer}, ${who}` : who;
      return atLeast(`as fast as ${what}`, value || undefined, target.least, times);
    }
    case 'cpu': {
      const [own, start, limit] = [subject, 'node', 'floor'].map((name) => cpu(row, name));
      const value = own && start && limit && (own - start) / limit;
      return atMost("CPU less Node's start, in floor's", value || undefined, target.most, times);
    }
    case 'start': {
      const own = timesOf(row, subject);
      const start = startOf(row);
      const value = own && start !== undefined ? median(own) - start : undefined;
      return atMost('time above node -e 0', value, target.mostMs, ms);
    }
    case 'memory': {
      const peaks = trialsOf(row, subject)?.map(({ peakKiB }) => (peakKiB * 1024) / 1e6);
      const value = peaks && Math.max(...peaks);
      return atMost('peak memory', value, target.mostMB, (mb) => `${mb.toFixed(0)} MB`);
    }
    case 'duration': {
      const all = trialsOf(row, 'fastcp-library')?.flatMap(({ durationMs }) => durationMs ?? []);
      return atMost('durationMs', all?.length ? median(all) : undefined, target.mostMs, ms);
    }
    case 'per file': {
      const fewer = rows.find(({ result }) => result.id === target.row);
      const [own, other] = [perFile(row), fewer && perFile(fewer)];
      const value = own && other && own / other;
      return atMost(
        `time per file, in that of ${target.row}`,
        value || undefined,
        target.most,
        times,
      );
    }
  }
}

function cpu(row: Judged, name: string): number | undefined {
  const trials = trialsOf(row, name);
  return trials && median(trials.map(({ cpuMs }) => cpuMs));
}

function perFile(row: Judged): number | undefined {
  const own = timesOf(row, row.workload.subject);
  const start = startOf(row);
  return own && start !== undefined ? (median(own) - start) / row.result.tree.files : undefined;
}
