// The behaviour tests that are not run with the arm64 binary under qemu, each with its reason.
import type { Reasons } from '../support/left-out.js';

export const reasons: Reasons = {
  'qemu does not pass on the calls of btrfs for snapshots': [
    ['snapshot'],
    ['doctor', /can do, and leaves nothing|between two file systems/],
  ],
  'it runs versions of Node for x64': [['filter', /AsyncLocalStorage: .*installers/]],
  'it measures time, and qemu takes ten times as long': [
    ['host'],
    ['teardown'],
    ['turns'],
    ['abort'],
    ['progress', /costs little/],
  ],
};
