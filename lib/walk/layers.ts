/** The layers of overlays, as far as the system tells where they are. */
import { promises } from 'node:fs';
import { type Layer, type Location, localFileSystems, MountTable, mounts } from './mounts.js';
import { directoryOf, isAbsolute, join, namesFrom } from './paths.js';
import { realpath, run } from './steps.js';

/** An overlay may be in a layer of another one. The kernel allows two levels. */
const mostLevels = 4;

export interface FoundLayer extends Location {
  /** Entries of the overlay that are changed or deleted change here. */
  isUpper: boolean;
}

/**
 * Returns the layers of the overlay on a device, and the layers of overlays that they are in. Those that do not exist here are
 * missing: a container does not see the layers of its root. A relative path is of the directory in which the overlay was
 * mounted: perhaps one above its mount point or `near`.
 */
export async function layersOf(
  table: MountTable,
  device: string,
  near: readonly Buffer[],
  level = 0,
): Promise<FoundLayer[]> {
  const found: FoundLayer[] = [];
  const [overlay] = table.mountsOf(device);
  if (!overlay?.layers?.length || level === mostLevels) return found;
  for (const { path, isUpper } of await findLayers(overlay.layers, [overlay.path, ...near])) {
    const at = table.locate(path);
    if (!at) continue;
    found.push({ ...at, isUpper });
    const names = namesFrom(Buffer.from('/'), at.path);
    for (const below of await layersOf(table, at.device, near, level + 1)) {
      found.push({
        ...{ device: below.device, path: names.reduce(join, below.path) },
        isUpper: isUpper && below.isUpper,
      });
    }
  }
  return found;
}

/**
 * Returns the devices of overlays whose ctimes prove nothing: a layer is on a file system whose ctimes are not trusted, or
 * `metacopy` hides that the content of a file changed. Returns none if the system does not tell its mounts.
 */
export async function distrustedDevices(): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const table = new MountTable(await mounts().catch(() => []));
  const found: number[] = [];
  for (const { device = '', metacopy, path } of table.overlays()) {
    const layers = await layersOf(table, device, []);
    const isTrusted = layers.every((layer) =>
      table
        .mountsOf(layer.device)
        .every(({ fileSystem }) => fileSystem === 'overlay' || localFileSystems.has(fileSystem)),
    );
    if (isTrusted && !metacopy) continue;
    const there = await promises.stat(path).catch(() => undefined);
    if (there) found.push(there.dev);
  }
  return found;
}

/** Returns the layers that exist here, without symlinks. */
async function findLayers(layers: readonly Layer[], near: readonly Buffer[]): Promise<Layer[]> {
  const resolve = async (from: Buffer): Promise<Layer[]> => {
    const found: Layer[] = [];
    for (const { path, isUpper } of layers) {
      const whole = isAbsolute(path) ? path : join(from, path);
      const real = await run(realpath(whole)).catch(() => undefined);
      if (real) found.push({ path: real, isUpper });
    }
    return found;
  };
  if (layers.every(({ path }) => isAbsolute(path))) return resolve(Buffer.from('/'));
  const tried = new Set<string>();
  for (const one of near) {
    for (let from = one; !tried.has(from.toString('latin1')); from = directoryOf(from)) {
      tried.add(from.toString('latin1'));
      const found = await resolve(from);
      if (found.length === layers.length) return found;
    }
  }
  return [];
}
