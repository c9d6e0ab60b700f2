/** Lists mounts if the system reports them: in /proc on Linux, by a command on macOS. */
import { promises } from 'node:fs';
import { needsProc } from '../errors.js';
import { isRoot, join } from './paths.js';
import { rename } from './walk.js';

const MOUNTS = '/proc/self/mountinfo';

export interface Mount {
  /** Absolute, without symlinks. */
  path: Buffer;
  fileSystem: string;
  readOnly: boolean;
  /** The directory of the file system that is mounted, and the device. Only on Linux. */
  root?: Buffer;
  device?: string;
}

/** Returns the mounts in the order in which they were mounted. Rejects if Linux does not tell them. */
export async function mounts(): Promise<Mount[]> {
  if (process.platform === 'win32') return []; // a mount there is a symlink: a junction
  if (process.platform === 'darwin') {
    // Loaded late: it takes 5 ms.
    const { execFile } = await import('node:child_process');
    return await new Promise((resolve) => {
      execFile('/sbin/mount', { encoding: 'latin1' }, (_, stdout) => resolve(parseCommand(stdout)));
    });
  }
  const text = await promises.readFile(MOUNTS, 'latin1').catch((error: unknown) => {
    throw rename(error, MOUNTS, needsProc);
  });
  return text.split('\n').filter(Boolean).map(parse);
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function parse(line: string): Mount {
  const [of = '', how = ''] = line.split(' - ');
  const [, , device = '', root = '', path = '', options = ''] = of.split(' ');
  const [fileSystem = '', , superOptions = ''] = how.split(' ');
  const bytes = (text: string): Buffer => {
    const unescaped = text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return Buffer.from(unescaped, 'latin1');
  };
  const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
  return { path: bytes(path), fileSystem, readOnly, root: bytes(root), device };
}

/** `/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse)` */
export function parseCommand(output: string): Mount[] {
  const lines = output.matchAll(/^.+? on (.+) \(([^,)]+)(.*)\)$/gm);
  return Array.from(lines, ([, path = '', fileSystem = '', options = '']) => ({
    path: Buffer.from(path, 'latin1'),
    fileSystem,
    readOnly: options.split(', ').includes('read-only'),
  }));
}

/**
 * Returns the mount of a directory, given without symlinks. macOS shows two volumes as one tree, so a mount
 * point above need not be the directory's.
 */
export async function mountOf(directory: Buffer): Promise<Mount | undefined> {
  const all = await mounts().catch(() => []);
  if (process.platform === 'darwin') {
    const { dev } = await promises.stat(directory);
    const devices = await Promise.all(all.map(({ path }) => deviceOf(path)));
    return all[devices.indexOf(dev)];
  }
  return mountAmong(all, directory);
}

function mountAmong(all: readonly Mount[], directory: Buffer): Mount | undefined {
  // The last one mounted there, or above, hides the others.
  const above = all.filter((mount) => isWithin(directory, mount.path));
  const deepest = Math.max(...above.map(({ path: { length } }) => length));
  return above.findLast((mount) => mount.path.length === deepest);
}

/**
 * Returns whether SRC is bound from DEST or a directory of DEST, or with `deep` also whether a mount in SRC is. Both paths
 * are given without symlinks. Only on Linux; elsewhere false.
 */
export async function isBoundFrom(src: Buffer, dest: Buffer, deep: boolean): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const all = await mounts().catch(() => []);
  const target = onDevice(all, dest);
  // DEST may be, or be in, a mount in SRC that is excluded.
  const isOther = (path: Buffer): boolean => isWithin(path, src) && !isWithin(dest, path);
  const mounted = deep ? all.map(({ path }) => path).filter(isOther) : [];
  return [src, ...mounted].some((path) => {
    const place = onDevice(all, path);
    return !!target && place?.device === target.device && isWithin(place.path, target.path);
  });
}

/** Returns the path of a directory from the root of its file system, whatever part of that is mounted. */
function onDevice(
  all: readonly Mount[],
  real: Buffer,
): { device: string; path: Buffer } | undefined {
  const { root, device, path = root } = mountAmong(all, real) ?? {};
  if (!root || !path || device === undefined) return undefined;
  const below = real.subarray(isRoot(path) ? path.length : path.length + 1);
  return { device, path: below.length > 0 ? join(root, below) : root };
}

function deviceOf(path: Buffer): Promise<number | undefined> {
  return promises.stat(path).then(
    ({ dev }) => dev,
    () => undefined,
  );
}

/** Returns whether a path is a directory itself or below it. */
export function isWithin(path: Buffer, directory: Buffer): boolean {
  const prefix = join(directory, Buffer.alloc(0));
  return path.equals(directory) || path.subarray(0, prefix.length).equals(prefix);
}

/** Returns the mount points at or below a directory, which is given without symlinks. */
export async function mountsWithin(directory: Buffer): Promise<Buffer[]> {
  return (await mounts()).map(({ path }) => path).filter((path) => isWithin(path, directory));
}
