import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { alone, groups } from './test/groups.js';
import { form } from './test/support/form.js';

const files = (names: string[]): string[] => names.map((name) => `test/${name}.test.ts`);
// A file that somebody names runs, whatever its group.
const isNamed = process.argv.some((argument) => /^(\.\/)?test\//.test(argument));
const isQuick = form === 'quick' && !isNamed;
const some = Object.values(groups).filter(({ quick }) => quick || !isQuick);
const leftOut = files(
  Object.values(groups)
    .filter((group) => !some.includes(group))
    .flatMap((group) => group.files),
);

export default defineConfig({
  test: {
    // The addon belongs to a process, and process.exit() and signals are part of what is tested.
    pool: 'forks',
    // In memory where that can be: ext4 looks at every inode deleted in the last minutes before it creates
    // one, so suites that make and remove trees on it slow each other down tenfold.
    env: existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {},
    globalSetup: 'test/support/tools.ts',
    tags: [{ name: 'all', description: 'What the quick form of the tests leaves out.' }],
    ...(isQuick && { tagsFilter: ['!all'] }),
    // Does not shorten the messages of failed assertions, because CI may keep nothing else of a long output.
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'beside others',
          include: files(some.flatMap((group) => group.files)),
          exclude: [...files(alone), ...leftOut],
          // More than processors: half the time, tests wait.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: files(alone),
          exclude: leftOut,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
