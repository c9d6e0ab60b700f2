import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The addon belongs to a process, and process.exit() and signals are part of what is tested.
    pool: 'forks',
    // In memory where that can be: ext4 looks at every inode deleted in the last minutes before it creates
    // one, so suites that make and remove trees on it slow each other down tenfold.
    env: existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {},
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
