import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mountOf, mountsWithin, parseCommand } from '../../lib/placement/mounts.js';
import { whileMounted } from '../support/filesystems.js';
import { needRoot, workDirectory } from '../support/work.js';

const work = workDirectory('mounts');

test('names that Linux escapes', async (context) => {
  needRoot(context);
  const path = join(work, 'a b\tc\nd\\e\\040');
  mkdirSync(path);
  await whileMounted(['-t', 'tmpfs', 'tmpfs'], path, async () => {
    expect((await mountsWithin(Buffer.from(work))).map(String)).toEqual([path]);
    expect(await mountOf(Buffer.from(path))).toMatchObject({ fileSystem: 'tmpfs' });
    expect(String((await mountOf(Buffer.from(join(path, 'below'))))?.path)).toBe(path);
  });
});

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
