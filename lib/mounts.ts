/** What is mounted where, as far as the system tells: on Linux /proc does. */
import { promises } from 'node:fs';

export interface Mount {
  /** Absolute, without links. */
  path: Buffer;
  fileSystem: string;
  readOnly: boolean;
}

/** In the order in which they were mounted. */
export async function mounts(): Promise<Mount[]> {
  const text = await promises.readFile('/proc/self/mountinfo', 'latin1').catch(() => '');
  return text.split('\n').filter(Boolean).map(parse);
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function parse(line: string): Mount {
  const [of = '', how = ''] = line.split(' - ');
  const [, , , , path = '', options = ''] = of.split(' ');
  const [fileSystem = '', , superOptions = ''] = how.split(' ');
  const bytes = path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
  return { path: Buffer.from(bytes, 'latin1'), fileSystem, readOnly };
}

/** Whether a path is a folder's own or one below it. */
export function isWithin(path: Buffer, folder: Buffer): boolean {
  const prefix = folder.length === 1 ? folder : Buffer.concat([folder, Buffer.from('/')]);
  return path.equals(folder) || path.subarray(0, prefix.length).equals(prefix);
}

/** The mount points at or below a folder, which is given without links. */
export async function mountsWithin(folder: Buffer): Promise<Buffer[]> {
  return (await mounts()).map(({ path }) => path).filter((path) => isWithin(path, folder));
}
