import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { FileSystem } from './file-systems.js';
import { sh } from './shell.js';

/** Where trials of a row take place. */
export interface Stage {
  /** The source as it was made, and a DEST that does not exist, on the same file system. */
  fresh(): Place;
  /** After each trial. */
  release(): void;
  close(): void;
}

export interface Place {
  src: string;
  dest: string;
  /** Below /sys/block, where the file system lies on one. */
  device?: string;
}

export interface StageSettings {
  /** Makes the source. */
  fill: (path: string) => void;
  /** A folder in memory that is the row's own. */
  memory: string;
  /** A folder for images that must not, or cannot, be in memory. */
  disk: string;
  /** Images of what never changes go here: to memory where they fit. */
  pristine: string;
  cold: boolean;
  restore: 'image' | 'remove';
  /** May be mounted; an ordinary user has only a folder. */
  mounts: boolean;
  unlimitedInodes: boolean;
}

export function openStage(fileSystem: FileSystem, settings: StageSettings): Stage {
  if (fileSystem.kind === 'tmpfs') return tmpfsStage(settings);
  if (fileSystem.kind === 'overlay') return overlayStage(settings);
  return imageStage(fileSystem, settings);
}

/** Removing is harmless on tmpfs. */
function tmpfsStage({ fill, memory, mounts, unlimitedInodes }: StageSettings): Stage {
  const folder = join(memory, 'tmpfs');
  mkdirSync(folder);
  if (mounts) {
    const inodes = unlimitedInodes ? ',nr_inodes=0' : '';
    sh('mount', '-t', 'tmpfs', '-o', `size=100%${inodes}`, 'tmpfs', folder);
  }
  const src = join(folder, 'src');
  const dest = join(folder, 'dest');
  fill(src);
  return {
    fresh: () => ({ src, dest }),
    release: () => remove(dest),
    close: () => {
      if (mounts) sh('umount', folder);
      remove(folder);
    },
  };
}

/** The source is in the lower layer, as in a container; each trial has new upper layers. */
function overlayStage({ fill, memory }: StageSettings): Stage {
  const layers = join(memory, 'layers');
  const folder = join(memory, 'overlay');
  const [lower, upper, work] = ['lower', 'upper', 'work'].map((name) => join(layers, name));
  for (const path of [layers, lower, folder]) mkdirSync(path as string);
  fill(join(lower as string, 'src'));
  let mounted = false;
  const release = (): void => {
    if (mounted) sh('umount', folder);
    mounted = false;
    for (const path of [upper, work]) remove(path as string);
  };
  return {
    fresh: () => {
      for (const path of [upper, work]) mkdirSync(path as string);
      const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
      sh('mount', '-t', 'overlay', 'overlay', '-o', options, folder);
      mounted = true;
      const src = join(folder, 'src');
      readAll(src);
      return { src, dest: join(folder, 'dest') };
    },
    release,
    close: () => {
      release();
      remove(layers);
      remove(folder);
    },
  };
}

/** Sparse: only what is written takes room. Enough inodes on ext4 for the largest tree. */
const imageBytes = 12 * 2 ** 30;

function imageStage(fileSystem: FileSystem, settings: StageSettings): Stage {
  const { fill, memory, disk, cold } = settings;
  const folder = join(memory, 'image');
  mkdirSync(folder);
  // In memory an image needs no cache of its own; on the disk it must not have one.
  const onDisk = cold || settings.pristine === disk;
  const pristine = join(settings.pristine, `pristine-${process.pid}.img`);
  const src = join(folder, 'src');
  const dest = join(folder, 'dest');
  let device: string | undefined;

  const mount = (image: string, direct: boolean): void => {
    const loop = sh('losetup', '--find', '--show', `--direct-io=${direct ? 'on' : 'off'}`, image);
    try {
      sh('mount', loop, folder);
    } finally {
      sh('losetup', '--detach', loop); // The kernel does it when nobody uses it any more.
    }
    device = basename(loop);
  };
  const unmount = (): void => {
    if (device) sh('umount', folder);
    device = undefined;
  };
  /** Where the image goes, nothing can be left behind: its name goes first. */
  const mountCopy = (): void => {
    const copy = join(onDisk ? disk : memory, `trial-${process.pid}.img`);
    sh('cp', '--sparse=always', pristine, copy);
    flush(copy);
    mount(copy, onDisk);
    rmSync(copy);
  };

  process.once('exit', () => rmSync(pristine, { force: true }));
  const [maker = '', ...flags] = fileSystem.maker ?? [];
  writeFileSync(pristine, '');
  truncateSync(pristine, imageBytes);
  sh(maker, ...flags, pristine);
  mount(pristine, settings.pristine === disk);
  fill(src);
  if (settings.restore === 'image') unmount();
  else sh('sync', '--file-system', folder);

  return {
    fresh: () => {
      if (settings.restore === 'image') mountCopy();
      if (cold) {
        sh('sync');
        writeFileSync('/proc/sys/vm/drop_caches', '3');
      } else {
        readAll(src);
        sh('sync', '--file-system', folder);
      }
      return { src, dest, ...(device !== undefined && { device }) };
    },
    release: () => {
      if (settings.restore === 'image') unmount();
      else remove(dest);
    },
    close: () => {
      unmount();
      remove(folder);
      rmSync(pristine, { force: true });
    },
  };
}

/** Bytes that were read from a block device since it is there. */
export function bytesRead(device: string): number {
  const [, , sectors] = readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/);
  return Number(sectors) * 512;
}

/** The pipe matters: tar does not read what goes to /dev/null. */
function readAll(folder: string): void {
  sh('sh', '-c', 'tar cf - -C "$1" . | cat >/dev/null', 'sh', folder);
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function remove(path: string): void {
  if (existsSync(path)) sh('rm', '-rf', '--one-file-system', path);
}
