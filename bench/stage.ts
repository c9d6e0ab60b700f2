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
  const directory = join(memory, 'tmpfs');
  mkdirSync(directory);
  if (mounts) {
    const inodes = unlimitedInodes ? ',nr_inodes=0' : '';
    sh('mount', '-t', 'tmpfs', '-o', `size=100%${inodes}`, 'tmpfs', directory);
  }
  const src = join(directory, 'src');
  const dest = join(directory, 'dest');
  fill(src);
  return {
    fresh: () => ({ src, dest }),
    release: () => removeTree(dest),
    close: () => {
      if (mounts) sh('umount', directory);
      removeTree(directory);
    },
  };
}

/** The source is in the lower layer, as in a container; each trial has new upper layers. */
function overlayStage({ fill, memory }: StageSettings): Stage {
  const layers = join(memory, 'layers');
  const directory = join(memory, 'overlay');
  const lower = join(layers, 'lower');
  const upper = join(layers, 'upper');
  const work = join(layers, 'work');
  for (const path of [layers, lower, directory]) mkdirSync(path);
  fill(join(lower, 'src'));
  let mounted = false;
  const release = (): void => {
    if (mounted) sh('umount', directory);
    mounted = false;
    for (const path of [upper, work]) removeTree(path);
  };
  return {
    fresh: () => {
      for (const path of [upper, work]) mkdirSync(path);
      const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
      sh('mount', '-t', 'overlay', 'overlay', '-o', options, directory);
      mounted = true;
      const src = join(directory, 'src');
      readAll(src);
      return { src, dest: join(directory, 'dest') };
    },
    release,
    close: () => {
      release();
      removeTree(layers);
      removeTree(directory);
    },
  };
}
