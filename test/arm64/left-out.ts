// The behaviour tests that are not run with the arm64 binary under qemu, each with its reason.
import type { Reasons } from '../support/left-out.js';

export const reasons: Reasons = {
  'qemu does not pass on the calls of btrfs for snapshots': [
    ['snapshot'],
    ['doctor', /can do, and leaves nothing|between two file systems/],
  ],
  'qemu does not pass on the numbers of mounts, without which an overlay has no marks': [
    ['other-file-systems', /to overlayfs .* > what doctor says/],
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
