import type { OutputOptions } from './args.js';
import type { Progress } from './bar.js';

const silent: Progress = { update() {}, clear() {}, stop() {} };

export async function createProgress(output: OutputOptions): Promise<Progress> {
  if (!(output.progress ?? isWelcome(output))) return silent;
  const { createBar } = await import('./bar.js'); // late: most runs show none
  return createBar(process.stderr);
}

function isWelcome(output: OutputOptions): boolean {
  const { CI = '', TERM } = process.env;
  const inCi = !['', '0', 'false'].includes(CI);
  // Lines that run through the same terminal show progress enough.
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
