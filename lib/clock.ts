/**
 * Milliseconds on a clock that only goes forward. Not performance.now(): Node loads that on first use,
 * which takes as long as copying some files.
 */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
