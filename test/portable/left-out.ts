// The tests that `npm run test:portable` leaves out beside those of test/darwin/left-out.ts, each with its reason.
import type { Reasons } from '../support/left-out.js';

export const reasons: Reasons = {
  'it lets system calls fail': [['bounds'], ['hanging'], ['races'], ['system-calls'], ['verify']],
  'it mounts file systems': [
    ['filesystems'],
    ['mounts'],
    ['names'],
    ['other-file-systems'],
    ['unchanged', /what lies beside a symlink/],
  ],
  'it takes leases or other locks': [['leases'], ['several-jobs']],
  'it measures time': [['host'], ['progress'], ['teardown'], ['threads'], ['turns']],
  'it reads /proc': [
    ['kinds', /do not say how long/],
    ['special', /\/proc/],
  ],
  'it takes another user': [
    ['atomic', /, for its owner|may not be (written to|removed)|a DEST of another user/],
    ['compare', /equal trees, and one with itself/],
    ['doctor', /for lack of permission/],
    ['mirror', /keep their owner out|a file of a user who/],
    ['fs/cp', /listed and not searched/],
  ],
  'it takes tools of GNU': [
    ['compare', /nothing is written|all that means something/],
    ['dry-run'],
    ['shards', /by an ordinary user/],
    ['worktree', /timestamps of existing directories/],
    ['bin/habits'],
    ['fs/fs-extra', /to the nanosecond/],
    ['selection/brackets', /random patterns/], // macOS has an old bash
  ],
  'it takes a terminal, or shells': [['bin/completions'], ['bin/screen'], ['bin/terminal']],
  'macOS and Windows have only names in UTF-8, and find these in any case': [
    ['kinds', /not UTF-8/],
    ['refusals', /differ in case only/],
    ['selection', /not UTF-8/],
    ['bin/fastcp', /files of globs/],
    ['fs/cp', /not UTF-8/],
    ['selection/differential'],
    ['selection/gitignore', /not UTF-8/],
    ['selection/globs', /not UTF-8/],
  ],
  'its messages are those of Linux': [['bin/wrong'], ['lib/load-binary']],
};
