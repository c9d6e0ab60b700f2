// Prints the numbers of a run of tests on another system, and the reasons of the tests that it left out
// (test/support/left-out.ts).
import { readFileSync } from 'node:fs';

/** `results`: the file that Vitest's JSON reporter wrote. */
export function printNumbers(results, system) {
  const run = JSON.parse(readFileSync(results, 'utf8'));
  const reasons = new Map();
  for (const { meta } of run.testResults.flatMap(({ assertionResults }) => assertionResults)) {
    if (meta?.leftOut) reasons.set(meta.leftOut, (reasons.get(meta.leftOut) ?? 0) + 1);
  }
  const leftOut = [...reasons.values()].reduce((sum, count) => sum + count, 0);
  console.log(`Left out: ${leftOut}`);
  for (const [reason, count] of [...reasons].sort(([, a], [, b]) => b - a))
    console.log(`  ${count}\t${reason}`);
  console.log(
    `${system}: ${run.numPassedTests} passed, ${run.numFailedTests} failed, ${leftOut} left out, ` +
      `${run.numPendingTests - leftOut} skipped by themselves`,
  );
}
