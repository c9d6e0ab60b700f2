import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The addon belongs to a process, and process.exit() and signals are part of what is tested.
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
