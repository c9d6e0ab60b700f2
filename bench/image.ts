import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { FileSystem } from './file-systems.js';
import { readAll, removeTree, sh } from './shell.js';

/** Where trials of a benchmark take place. */
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
  /** A directory in memory that is the benchmark's own. */
  memory: string;
  /** A directory for images that must not, or cannot, be in memory. */
  disk: string;
  /** Images of what never changes go here: to memory where they fit. */
  pristine: string;
  cold: boolean;
  restore: 'image' | 'remove';
  /** May be mounted; an ordinary user has only a directory. */
  mounts: boolean;
  unlimitedInodes: boolean;
}

/** Sparse: only what is written takes room. Enough inodes on ext4 for the largest tree. */
const imageBytes = 12 * 2 ** 30;

/** A file system in an image, of which each trial gets a copy. */
export function imageStage(fileSystem: FileSystem, settings: StageSettings): Stage {
  const { fill, memory, disk, cold } = settings;
  const directory = join(memory, 'image');
  mkdirSync(directory);
  // In memory an image needs no cache of its own; on the disk it must not have one.
  const onDisk = cold || settings.pristine === disk;
  const pristine = join(settings.pristine, `pristine-${process.pid}.img`);
  const src = join(directory, 'src');
  const dest = join(directory, 'dest');
  let device: string | undefined;

  const mount = (image: string, direct: boolean): void => {
    const loop = sh('losetup', '--find', '--show', `--direct-io=${direct ? 'on' : 'off'}`, image);
    try {
      sh('mount', loop, directory);
    } finally {
      sh('losetup', '--detach', loop); // The kernel does it when nobody uses it any more.
    }
    device = basename(loop);
    if (direct && !usesDirectIo(device)) throw new Error('the loop device has no direct I/O here');
  };
  const unmount = (): void => {
    if (device) sh('umount', directory);
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
  else sh('sync', '--file-system', directory);

  return {
    fresh: () => {
      if (settings.restore === 'image') mountCopy();
      if (cold) {
        sh('sync');
        writeFileSync('/proc/sys/vm/drop_caches', '3');
      } else {
        readAll(src);
        sh('sync', '--file-system', directory);
      }
      return { src, dest, ...(device !== undefined && { device }) };
    },
    release: () => {
      if (settings.restore === 'image') unmount();
      else removeTree(dest);
    },
    close: () => {
      unmount();
      removeTree(directory);
      rmSync(pristine, { force: true });
    },
  };
}

/** Images of a run that was killed. Nothing else can stay behind. */
export function removeLeftovers(disk: string): void {
  for (const name of readdirSync(disk)) {
    const [, pid] = /^(?:pristine|trial)-(\d+)\.img$/.exec(name) ?? [];
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(join(disk, name));
  }
}

/** Bytes that were read from a block device since it is there. */
export function bytesRead(device: string): number {
  const [, , sectors] = readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/);
  return Number(sectors) * 512;
}

function usesDirectIo(device: string): boolean {
  return readFileSync(`/sys/block/${device}/loop/dio`, 'utf8').trim() === '1';
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
