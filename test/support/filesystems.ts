import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, type TestContext } from 'vitest';
import { size } from './form.js';
import { hasTool, isPortable, isRoot, skip } from './work.js';

export type FileSystemName = 'tmpfs' | 'ext4' | 'xfs' | 'btrfs' | 'overlay' | 'ntfs';

/** All but the one for which case does not matter, and which lists all names in small letters. */
export const fileSystemNames = size<FileSystemName[]>(
  ['tmpfs', 'btrfs'],
  ['tmpfs', 'ext4', 'xfs', 'btrfs', 'overlay'],
);

export const clones = (name: FileSystemName): boolean => name === 'xfs' || name === 'btrfs';

const makers: Partial<Record<FileSystemName, string[]>> = {
  ext4: ['mkfs.ext4', '-q'],
  xfs: ['mkfs.xfs', '-q', '-m', 'reflink=1'],
  btrfs: ['mkfs.btrfs', '-q'],
  ntfs: ['mkfs.ntfs', '-q', '-F'],
};

export interface MountSettings {
  size?: string;
  /** The size of a block, in bytes; on ext4 and XFS. */
  block?: number;
  /** Fills the lower layer of an overlay. */
  lower?: (directory: string) => void;
}

/**
 * Mounts a file system while the tests of the file run. The function that it returns gives the path
 * to a test, and skips the test, aloud, where that file system cannot be had.
 */
export function useFileSystem(
  work: string,
  name: FileSystemName,
  settings: MountSettings = {},
): (context: TestContext) => string {
  const directory = join(work, `${name}-${settings.size ?? 'mount'}-${settings.block ?? ''}`);
  return useMount(directory, makers[name]?.slice(0, 1) ?? [], () => {
    mount(name, directory, settings);
    chmodSync(directory, 0o1777);
  });
}

/** Does the same for a file system that `mount` mounts, if the tools that it needs are installed. */
export function useMount(
  directory: string,
  tools: string[],
  mount: () => void,
): (context: TestContext) => string {
  let obstacle = obstacleTo(tools);
  beforeAll(() => {
    if (obstacle) return;
    mkdirSync(directory);
    try {
      mount();
    } catch (error) {
      obstacle = `${directory} cannot be mounted: ${error}`;
    }
  });
  afterAll(() => {
    if (!obstacle) execFileSync('umount', ['-l', directory]);
  });
  return (context) => {
    if (obstacle) skip(context, obstacle);
    return directory;
  };
}

function obstacleTo(tools: string[]): string | undefined {
  if (!isRoot || isPortable) return 'mounting takes root';
  const missing = tools.find((tool) => !hasTool(tool));
  return missing && `${missing} is not installed`;
}

function mount(
  name: FileSystemName,
  directory: string,
  { size = '768M', block, lower }: MountSettings,
) {
  const run = (file: string, ...args: string[]) => execFileSync(file, args, { stdio: 'pipe' });
  const [maker, ...flags] = makers[name] ?? [];
  if (maker) {
    const image = `${directory}.image`;
    writeFileSync(image, '');
    const unit = size.endsWith('M') ? 2 ** 20 : 2 ** 10;
    truncateSync(image, Number.parseInt(size, 10) * unit);
    const blocks = block ? ['-b', name === 'xfs' ? `size=${block}` : `${block}`] : [];
    run(maker, ...flags, ...blocks, image);
    const type = name === 'ntfs' ? ['-t', 'lowntfs-3g', '-o', 'ignore_case'] : [];
    run('mount', ...type, '-o', 'loop', image, directory);
  } else if (name === 'tmpfs') {
    run('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory);
  } else {
    const layers = ['lowerdir', 'upperdir', 'workdir'].map((layer) => {
      mkdirSync(`${directory}.${layer}`);
      return `${layer}=${directory}.${layer}`;
    });
    lower?.(`${directory}.lowerdir`);
    run('mount', '-t', 'overlay', '-o', layers.join(','), 'overlay', directory);
  }
}

/** Mounts something for as long as `use` takes. */
export async function whileMounted(
  args: string[],
  directory: string,
  use: () => Promise<void>,
): Promise<void> {
  execFileSync('mount', [...args, directory]);
  try {
    await use();
  } finally {
    execFileSync('umount', ['-l', directory]);
  }
}

/** The system may have brought a mount to other directories of the same tree, and takes these away with it. */
export function unmountAll(directory: string): void {
  const list = `grep -o ' ${directory}[^ ]*' /proc/self/mountinfo`;
  execFileSync('sh', [
    '-c',
    `while at=$(${list} | tail -n 1); [ "$at" ]; do umount -l $at || exit; done`,
  ]);
}
