import { expect, test } from 'vitest';
import { parseCommand } from '../../lib/walk/mounts.js';

test('what macOS’s mount prints', () => {
  const output = `/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect, root data)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//user@server/share on /Volumes/a disk (1) on it (smbfs, nodev, nosuid, mounted by user)
`;
  const found = parseCommand(output);
  expect(found.map(({ path, fileSystem }) => `${path} ${fileSystem}`)).toEqual([
    '/ apfs',
    '/dev devfs',
    '/System/Volumes/Data apfs',
    '/System/Volumes/Data/home autofs',
    '/Volumes/a disk (1) on it smbfs',
  ]);
  expect(found.map(({ readOnly }) => readOnly)).toEqual([true, false, false, false, false]);
});
