import { join } from 'node:path';
import { defineConfig, mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.js';

// A sanitizer takes its time.
export default mergeConfig(
  usual,
  defineConfig({
    test: {
      root: join(import.meta.dirname, '../..'),
      setupFiles: ['test/sanitize/setup.ts'],
      testTimeout: 300_000,
      hookTimeout: 300_000,
    },
  }),
);
