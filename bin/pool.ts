import { availableParallelism } from 'node:os';

/**
 * The threads that libuv's pool gets: one for each worker and one that stays free for the rest of
 * the process. Workers that wait for a disk need no core, so a small machine gets eight all the same.
 */
export function poolSize(argv: readonly string[], cores: number): number {
  return (jobsIn(argv) ?? Math.max(cores, 8)) + 1;
}

/**
 * Must run before anything uses the pool, which takes its size only once; so it looks for `--jobs` by
 * itself, roughly: what is wrong there, the real parser tells soon after.
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
