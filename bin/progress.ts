import type { OutputOptions } from './args.js';
import type { Progress } from './bar.js';

export const silent: Progress = { update() {}, clear() {}, stop() {} };

/** Creates the progress bar of a copy. `deletes`: the copy may delete entries. */
export async function createProgress(deletes: boolean): Promise<Progress> {
  const { createBar } = await import('./bar.js'); // loaded late: most runs show no bar
  return createBar(process.stderr, deletes);
}

export function showsProgress(output: OutputOptions): boolean {
  return output.progress ?? isWelcome(output);
}

function isWelcome(output: OutputOptions): boolean {
  const { CI = '', TERM } = process.env;
  const inCi = !['', '0', 'false'].includes(CI);
  // Lines on the same terminal show enough progress.
  const printsLines = output.entries && process.stdout.isTTY;
  return (
    process.stderr.isTTY &&
    TERM !== 'dumb' &&
    !inCi &&
    !output.json &&
    !output.quiet &&
    !printsLines
  );
}
