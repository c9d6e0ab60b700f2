/** Lists mounts if the system reports them: in /proc on Linux, by a command on macOS. */
import { promises } from 'node:fs';
import { getBuiltinModule } from '../builtins.js';
import { needsProc } from '../errors/advice.js';
import { asCopyError } from '../errors/from-node.js';
import { isWithin } from '../paths.js';

const MOUNTS = '/proc/self/mountinfo';

export interface Mount {
  /** Absolute, without symlinks. */
  path: Buffer;
  fileSystem: string;
  readOnly: boolean;
  /** Only on Linux. */
  device?: string;
  superOptions?: string[];
}

/** Returns the mounts in the order in which they were mounted. Rejects if Linux does not tell them. */
export async function mounts(): Promise<Mount[]> {
  if (process.platform === 'win32') return []; // a mount there is a symlink: a junction
  if (process.platform === 'darwin') {
    // Loaded late: it takes 5 ms.
    const { execFile } = getBuiltinModule('node:child_process');
    return await new Promise((resolve) => {
      execFile('/sbin/mount', { encoding: 'latin1' }, (_, stdout) => resolve(parseCommand(stdout)));
    });
  }
  const text = await promises.readFile(MOUNTS, 'latin1').catch((error: unknown) => {
    throw asCopyError(error, MOUNTS, needsProc);
  });
  return text.split('\n').filter(Boolean).map(parse);
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function parse(line: string): Mount {
  const [of = '', how = ''] = line.split(' - ');
  const [, , device = '', , path = '', options = ''] = of.split(' ');
  const [fileSystem = '', , text = ''] = how.split(' ');
  const superOptions = text.split(',');
  const readOnly = options.split(',').includes('ro') || superOptions.includes('ro');
  return { path: unescaped(path), fileSystem, readOnly, device, superOptions };
}

function unescaped(text: string): Buffer {
  const byteOf = (_: string, octal: string) => String.fromCharCode(Number.parseInt(octal, 8));
  return Buffer.from(text.replace(/\\([0-7]{3})/g, byteOf), 'latin1');
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
  return mountAt(all, directory);
}

/** Returns the deepest mount that a path is in, and of several there the last. Ignores that a mount above may hide it. */
function mountAt(all: readonly Mount[], path: Buffer): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of all) {
    const isDeeper = !found || mount.path.length >= found.path.length;
    if (isDeeper && isWithin(path, mount.path)) found = mount;
  }
  return found;
}

/** Linux: returns the devices of overlays whose ctimes prove nothing: `metacopy` hides that the content of a file changed. */
export async function distrustedDevices(): Promise<number[]> {
  const all = await mounts().catch(() => []);
  const overlays = all.filter(({ superOptions = [] }) => superOptions.includes('metacopy=on'));
  return overlays.map(({ device = '' }) => {
    const minor = Number(device.split(':')[1]); // the major number is 0
    return (minor % 256) + (minor - (minor % 256)) * 4096; // as makedev() does
  });
}

function deviceOf(path: Buffer): Promise<number | undefined> {
  return promises.stat(path).then(
    ({ dev }) => dev,
    () => undefined,
  );
}

/** Returns the mount points at or below a directory, which is given without symlinks. */
export async function mountsWithin(directory: Buffer): Promise<Buffer[]> {
  return (await mounts()).map(({ path }) => path).filter((path) => isWithin(path, directory));
}
