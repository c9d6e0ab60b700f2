import { lstatSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Bytes. One worker copies a file of this size alone. */
const SMALL = 1 << 20;

/**
 * Returns the size of libuv's pool: a thread for each worker, and one that stays free for the rest of the
 * process. Workers that wait for a disk need no core, so even a small machine gets eight. libuv starts all threads at
 * once, which takes longer than copying one small file.
 */
export function poolSize(argv: readonly string[], cores: number): number {
  return (jobsIn(argv) ?? (isOneSmallFile(argv) ? 1 : Math.max(cores, 8))) + 1;
}

/** Returns whether the command line is `FILE DEST`. With options the answer is no, and some threads are idle. */
function isOneSmallFile(argv: readonly string[]): boolean {
  const [src = '', dest = ''] = argv;
  if (argv.length !== 2 || src.startsWith('-') || dest.startsWith('-')) return false;
  try {
    const found = lstatSync(src);
    return found.isFile() && found.size <= SMALL;
  } catch {
    return false; // the copy reports it
  }
}

/**
 * Must run before anything uses the pool, which reads its size only once. So it parses `--jobs` roughly by
 * itself. The real parser reports errors soon after.
 */
export function sizePool(): void {
  process.env.UV_THREADPOOL_SIZE ||= String(
    poolSize(process.argv.slice(2), availableParallelism()),
  );
}

function jobsIn(argv: readonly string[]): number | undefined {
  let jobs: number | undefined;
  for (const [index, argument] of argv.entries()) {
    if (argument === '--') break;
    const option = /^(?:--jobs|-[a-z]*j)(?:=?(\d+))?$/.exec(argument);
    const value = Number(option?.[1] ?? (option && argv[index + 1]));
    if (value > 0) jobs = value;
  }
  return jobs;
}
