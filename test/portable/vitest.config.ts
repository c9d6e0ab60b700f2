import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import usual from '../../vitest.config.js';

const { projects, ...common } = usual.test ?? {};

// The tests that ask nothing of Linux, with the binary of this system. Most make trees that Windows cannot hold: it gets
// those that make none, and those of wine.
export default defineConfig({
  test: {
    ...common,
    root: join(import.meta.dirname, '../..'),
    include:
      process.platform === 'win32'
        ? [
            'test/bin/{args,bar,format,output,report,report-json}.test.ts',
            'test/lib/{errors,events,mounts}.test.ts',
            'test/selection/filter.test.ts',
            'test/windows/wine.test.ts',
          ]
        : ['test/{behaviour,bin,fs,lib,selection}/*.test.ts'],
    // macOS has its temporary directory behind a symlink.
    env: { TMPDIR: realpathSync(tmpdir()), ...common.env, FASTCP_PORTABLE: '1' },
    globalSetup: [],
    setupFiles: ['test/portable/setup.ts'],
    maxWorkers: 4,
  },
});
