/**
 * Tries the abilities of a file system with real files in a temporary directory, through the copier where it
 * has the ability.
 */
import { promises } from 'node:fs';
import path from 'node:path';
import { checkMarks, exchange, setAttribute } from '../bridge/native.js';
import { compareTrees } from '../compare-trees.js';
import { copyTree } from '../copy-tree.js';
import { errorOf } from '../errors/from-engine.js';
import { mounts } from '../placement/mounts.js';
import type { CopyOptions, CopyResult } from '../types.js';
import type { Ability } from './types.js';

const KiB = 1024;

/** Rejects with the reason if the file system lacks the ability. Each try uses its own names in `room`. */
type Try = (room: string) => Promise<unknown>;

export const tries: Record<Ability, Try> = {
  async clone(room) {
    await copyFile(room, room, 64 * KiB, { reflink: 'always' });
  },
  async copyFileRange(room) {
    const { methods } = await copyFile(room, room, 4 * KiB, {});
    if (methods.copyFileRange === 0) throw new Error('small files were read and written');
  },
  async holes(room) {
    const [from, to] = names(room, 'holes');
    const file = await promises.open(from, 'wx');
    try {
      await file.write('data', 512 * KiB);
      await file.truncate(1024 * KiB);
    } finally {
      await file.close();
    }
    await copyTree(from, to);
    for (const name of [from, to]) {
      const { blocks } = await promises.stat(name);
      if (blocks * 512 > 512 * KiB) throw new Error('they are filled with zeros');
    }
  },
  async xattrs(room) {
    await copyAttribute(room, 'user.fastcp', Buffer.from('value'));
  },
  async marks(room) {
    if (checkMarks(Buffer.from(room)) === 0) return;
    throw new Error('contents are compared every time');
  },
  async acls(room) {
    // ACLs of another kind, which only the system's own tools can create.
    if (process.platform === 'darwin') throw new Error('not tried on macOS');
    await copyAttribute(room, 'system.posix_acl_access', accessList());
  },
  async symlinks(room) {
    await promises.symlink('nowhere', path.join(room, 'link'));
  },
  async hardLinks(room) {
    const [from, to] = names(room, 'hard link');
    await promises.writeFile(from, '');
    await promises.link(from, to);
  },
  async caseSensitive(room) {
    await promises.writeFile(path.join(room, 'case'), '');
    const other = await promises.lstat(path.join(room, 'CASE')).catch(() => undefined);
    if (other) throw new Error('names that differ only in case are one');
  },
  async exchange(room) {
    await mounts(); // an atomic copy also asks where something is mounted
    const directories = names(room, 'exchange');
    for (const name of directories) await promises.mkdir(name);
    check(exchange(Buffer.from(directories[0]), Buffer.from(directories[1])), 'rename');
  },
};

let number = 0;

/** Copies one file of that size from a directory to the same or another one. */
export async function copyFile(
  fromRoom: string,
  toRoom: string,
  size: number,
  options: CopyOptions,
): Promise<CopyResult> {
  const [from] = names(fromRoom, `file ${number++}`);
  const [, to] = names(toRoom, `file ${number}`);
  await promises.writeFile(from, Buffer.alloc(size, 'fastcp'));
  return await copyTree(from, to, options);
}

/** The codes for names that are too long. Node on Windows reports an impossible name as a missing one. */
const tooLongCodes =
  process.platform === 'win32' ? ['ENOENT', 'EINVAL', 'ENAMETOOLONG'] : ['ENAMETOOLONG'];

/** Returns the bytes that a name may have: the longest name that could be created. */
export async function longestName(room: string): Promise<number> {
  let [longest, tooLong] = [1, 1025];
  while (tooLong - longest > 1) {
    const length = (longest + tooLong) >> 1;
    const file = path.join(room, 'n'.repeat(length));
    const error = await promises.writeFile(file, '').then(
      () => undefined,
      (failed: NodeJS.ErrnoException) => failed,
    );
    if (error && !tooLongCodes.includes(error.code ?? '')) throw error;
    if (error) tooLong = length;
    else longest = length;
  }
  return longest;
}

async function copyAttribute(room: string, name: string, value: Buffer): Promise<void> {
  const [from, to] = names(room, name);
  await promises.writeFile(from, 'content');
  check(setAttribute(Buffer.from(from), Buffer.from(name), value), 'setxattr');
  await copyTree(from, to, { preserve: ['mode', 'xattrs'], strict: true });
  // ntfs-3g accepts ACLs, and does not keep them.
  const without = `${to} without`;
  await promises.writeFile(without, 'content');
  await promises.chmod(without, (await promises.stat(to)).mode & 0o7777);
  const { differences } = await compareTrees(without, to, { preserve: ['mode', 'xattrs'] });
  if (differences.length === 0) throw new Error('accepted, but not kept');
}

/** Returns an ACL in the form of the attribute: the user 1234 may read. */
function accessList(): Buffer {
  const none = 0xffffffff;
  const entries = [
    [0x01, 6, none], // owner
    [0x02, 4, 1234],
    [0x04, 4, none], // group
    [0x10, 4, none], // mask
    [0x20, 4, none], // others
  ] as const;
  const list = Buffer.alloc(4 + entries.length * 8);
  list.writeUInt32LE(2); // its version
  for (const [index, [tag, permissions, id]] of entries.entries()) {
    const at = 4 + index * 8;
    list.writeUInt16LE(tag, at);
    list.writeUInt16LE(permissions, at + 2);
    list.writeUInt32LE(id, at + 4);
  }
  return list;
}

function names(room: string, name: string): [from: string, to: string] {
  return [path.join(room, `${name} from`), path.join(room, `${name} to`)];
}

function check(errno: number, operation: string): void {
  if (errno !== 0) throw errorOf({ errno, operation }, '');
}
