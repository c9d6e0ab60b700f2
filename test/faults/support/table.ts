import { calls, USUAL } from './calls.js';
import type { Done } from './sweep.js';

/** Call x fault, and what came of it: a section of docs/reliability.md. */
export function tableOf(done: Done[]): string {
  const rows = Object.entries(calls).map(([call, faults]) => {
    const outcomes = (fault: string): Set<string> =>
      new Set(
        done
          .filter(({ planned }) => planned.call === call && planned.fault === fault)
          .map(({ outcome }) => outcome),
      );
    const cell = (outcome: string): string =>
      inShort(faults.filter((fault) => outcomes(fault).has(outcome))).join(', ');
    const cases = done.filter(({ planned }) => planned.call === call).length;
    return `| ${call} | ${cases} | ${cell('goes on')} | ${cell('warning')} | ${cell('error')} |`;
  });
  return ['| call | cases | goes on | warning | error |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function inShort(faults: string[]): string[] {
  if (!USUAL.every((one) => faults.includes(one))) return faults;
  return ['usual', ...faults.filter((one) => !USUAL.includes(one))];
}
