import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** Tests that measure time, count threads or look at a screen: another test beside them would be measured as well. */
const alone = [
  'behaviour/{abort,events,hanging,host,jobs,system-calls,teardown,turns}',
  'bin/{bar,completions,interrupt,pool,screen,terminal}',
  'behaviour/progress',
  'bench/bench',
  'faults/memory',
  'linux/*',
  'load/*',
].map((name) => `test/${name}.test.ts`);

export default defineConfig({
  test: {
    // The addon belongs to a process, and process.exit() and signals are part of what is tested.
    pool: 'forks',
    // In memory where that can be: ext4 looks at every inode deleted in the last minutes before it creates
    // one, so suites that make and remove trees on it slow each other down tenfold.
    env: existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {},
    globalSetup: 'test/support/tools.ts',
    // Does not shorten the messages of failed assertions, because CI may keep nothing else of a long output.
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'beside others',
          include: ['test/**/*.test.ts'],
          exclude: alone,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
