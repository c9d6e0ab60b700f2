import { createRequire } from 'node:module';
import { afterAll } from 'vitest';

// For all test files of scripts/sanitize.mjs that look for leaks. What they start does not: a process
// that is traced cannot, and others would be slow.

process.env.ASAN_OPTIONS = `${process.env.ASAN_OPTIONS}:detect_leaks=0`;

const leaks = process.env.FASTCP_LEAKS;
if (leaks === undefined) throw new Error('only for scripts/sanitize.mjs');
const { check } = createRequire(import.meta.url)(leaks) as { check(): void };

afterAll(async () => {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  check();
});
