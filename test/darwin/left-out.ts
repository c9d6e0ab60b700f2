// The behaviour tests that are not run over the model of macOS, each with its reason.
import type { Reasons } from '../support/left-out.js';

export const reasons: Reasons = {
  'it sets and reads ACLs of Linux': [
    ['preserve', /^random trees, everything preserved/],
    ['preserve', /lists and attributes$/],
    ['preserve', /an ACL that comes after an attribute|an owner and an attribute change/],
    ['preserve', /ACL (alone|that) cannot be|beside its new ACL|its mode and ACL/],
    ['modes', /open to nobody else before it has its access list/],
    ['other-file-systems', /what doctor says of metadata/],
    ['permissions', /attributes change, and no mode is wider for others meanwhile|with a new ACL/],
  ],
  'it lets a system call fail, or waits for one, that macOS’s code does not make in this case': [
    ['races', /changes (each time )?just before the call that copies it/],
    ['races', /names that wait for a copy that fails/],
    ['races', /never comes to rest is an error after four attempts/],
    ['races', /a copy that is to be read back/],
    ['races', /the copy is the log of one moment/],
    ['killed', /leaves no part of a file|that somebody created while it was copied/],
    ['verify', /what is read back comes from the disk/],
    ['mirror', /an entry of (SRC|DEST) cannot be looked at/],
    ['preserve', /an attribute for which DEST has no room/],
    ['system-calls', /^(copy_file_range|ftruncate|fchmod|close|f?removexattr|FICLONE)/],
    ['system-calls', /half of one small directory/],
    ['preserve', /the first name cannot be copied/],
    ['large-files', /a call copies at most 8 MiB/],
    ['permissions', /flistxattr fails at its end/],
  ],
  'macOS’s code takes a file with enough blocks for one without holes': [
    ['storage', /holes where blocks are preallocated/],
    ['large-files', /where its data ends is asked once/],
  ],
  'macOS’s code creates no file without a name (docs/reliability.md)': [
    ['large-files', /after SIGKILL|again without a name/],
  ],
  'macOS’s code copies no devices': [
    ['mirror', /a device, which an ordinary user may not create/],
    ['special', /the same FIFO or device again/],
    ['kinds', /> devices, by/],
    ['other-file-systems', /a device, or an error/],
  ],
  'macOS has neither bind mounts nor overlays': [
    ['mirror', /stays where something is mounted/],
    ['unchanged', /mounted over one of/],
    ['unchanged', /names that were exchanged in one call > (layers|a layer) of an overlay/],
  ],
  'all local file systems of Linux are volumes with clones and nanoseconds in the model': [
    ['filesystems', /, reflink auto$/],
    ['filesystems', /reflink always where there are no clones/],
    ['unchanged', /where the file system counts seconds/],
    ['other-file-systems', /128 bytes > update, twice/],
  ],
  'the model copies to clone, which takes time and is not one step': [
    ['faults', /^the source changes while it is copied/],
    ['modes', /never wider than in the end/],
    ['teardown', /in the middle of a large file/],
    ['abort', /in the middle of a large file/],
  ],
  'macOS cannot open an entry without a permission for it (docs/macos.md)': [
    ['modes', /umask (400|777) > of an ordinary user|verify that umask denies/],
  ],
  'it is about a driver of Linux that fails in a way of its own': [
    ['other-file-systems', /exFAT by exfat-fuse > a pipe/],
  ],
  'it uses flags of Linux (chattr)': [['append-only']],
  'it is about btrfs, which alone has snapshots on Linux': [
    ['abort', /snapshot: rejects soon/],
    ['early-directories', /where they are made early, and where not/],
    ['snapshot'],
    ['mounts', /subvolumes that only DEST has/],
    ['doctor', /can do, and leaves nothing|between two file systems/],
    ['other-file-systems', /to ext2 > what doctor says/],
  ],
};
