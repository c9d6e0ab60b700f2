import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FileSystem } from './file-systems.js';
import { imageStage, type Stage, type StageSettings } from './image.js';
import { readAll, removeTree, sh } from './shell.js';

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
    release: () => removeTree(dest),
    close: () => {
      if (mounts) sh('umount', folder);
      removeTree(folder);
    },
  };
}

/** The source is in the lower layer, as in a container; each trial has new upper layers. */
function overlayStage({ fill, memory }: StageSettings): Stage {
  const layers = join(memory, 'layers');
  const folder = join(memory, 'overlay');
  const lower = join(layers, 'lower');
  const upper = join(layers, 'upper');
  const work = join(layers, 'work');
  for (const path of [layers, lower, folder]) mkdirSync(path);
  fill(join(lower, 'src'));
  let mounted = false;
  const release = (): void => {
    if (mounted) sh('umount', folder);
    mounted = false;
    for (const path of [upper, work]) removeTree(path);
  };
  return {
    fresh: () => {
      for (const path of [upper, work]) mkdirSync(path);
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
      removeTree(layers);
      removeTree(folder);
    },
  };
}
