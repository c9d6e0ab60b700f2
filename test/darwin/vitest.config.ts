import { join } from 'node:path';
import { defineConfig, mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.js';

// The behaviour tests over the model of macOS: scripts/darwin.mjs.
export default mergeConfig(
  usual,
  defineConfig({
    test: {
      root: join(import.meta.dirname, '../..'),
      setupFiles: ['test/darwin/setup.ts'],
    },
  }),
);
