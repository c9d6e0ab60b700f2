import { defineConfig, mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.js';

// The behaviour tests with the arm64 binary under qemu: scripts/arm64.mjs.
export default mergeConfig(
  usual,
  defineConfig({
    test: {
      root: new URL('../..', import.meta.url).pathname,
      setupFiles: ['test/arm64/setup.ts'],
      testTimeout: 600_000,
      hookTimeout: 600_000,
    },
  }),
);
