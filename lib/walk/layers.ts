/** The layers of overlays, as far as the system tells where they are. */
import { promises } from 'node:fs';
import { type Layer, type Location, localFileSystems, type MountTable } from './mounts.js';
import { directoryOf, isAbsolute, join, namesFrom, trimSlashes } from './paths.js';
import { realpath, run } from './steps.js';
import { nearest, type Root } from './walk.js';

/** An overlay may be in a layer of another one. The kernel allows two levels. */
const mostLevels = 4;
const top = Buffer.from('/');

export interface FoundLayer extends Location {
  /** Entries of the overlay that are changed or deleted change here. */
  isUpper: boolean;
}

export class Layers {
  readonly #table: MountTable;
  readonly #near: readonly Buffer[];
  readonly #known = new Map<string, Promise<FoundLayer[]>>();

  /** A relative path is of the directory in which the overlay was mounted: perhaps one above its mount point or `near`. */
  constructor(table: MountTable, near: readonly Buffer[]) {
    this.#table = table;
    this.#near = near;
  }

  /**
   * Returns the layers of the overlay on a device, and the layers of overlays that they are in. Those that do not exist here are
   * missing: a container does not see the layers of its root.
   */
  of(device: string, level = 0): Promise<FoundLayer[]> {
    const key = `${level} ${device}`;
    const found = this.#known.get(key) ?? this.#find(device, level);
    this.#known.set(key, found);
    return found;
  }

  async #find(device: string, level: number): Promise<FoundLayer[]> {
    const found: FoundLayer[] = [];
    const [overlay] = this.#table.mountsOf(device);
    if (!overlay?.layers?.length || level === mostLevels) return found;
    for (const { path, isUpper } of await this.#resolve(overlay.layers, overlay.path)) {
      const at = this.#table.locate(path);
      if (!at) continue;
      found.push({ ...at, isUpper });
      const names = namesFrom(top, at.path);
      for (const below of await this.of(at.device, level + 1)) {
        found.push({
          ...{ device: below.device, path: names.reduce(join, below.path) },
          isUpper: isUpper && below.isUpper,
        });
      }
    }
    return found;
  }

  /** Returns the layers that exist here, without symlinks. */
  async #resolve(layers: readonly Layer[], mountPoint: Buffer): Promise<Layer[]> {
    const resolveFrom = (directory: Buffer): Promise<Layer[][]> =>
      Promise.all(layers.map((layer) => spellingsOf(layer, directory)));
    if (layers.every(({ path }) => isAbsolute(path))) return (await resolveFrom(top)).flat();
    const tried = new Set<string>();
    for (const one of [mountPoint, ...this.#near]) {
      for (let from = one; !tried.has(from.toString('latin1')); from = directoryOf(from)) {
        tried.add(from.toString('latin1'));
        const found = await resolveFrom(from);
        if (found.every(({ length }) => length > 0)) return found.flat();
      }
    }
    return [];
  }
}

/**
 * Returns the places that the text of a layer's path may mean, if they exist. `lowerdir=` has a backslash before `:` and `\`;
 * `lowerdir+=` and `upperdir=` have none.
 */
async function spellingsOf({ path, isUpper }: Layer, directory: Buffer): Promise<Layer[]> {
  const plain = Buffer.from(path.toString('latin1').replace(/\\(.)/gs, '$1'), 'latin1');
  const found: Layer[] = [];
  for (const one of path.equals(plain) ? [path] : [plain, path]) {
    const whole = isAbsolute(one) ? one : join(directory, one);
    const real = await run(realpath(whole)).catch(() => undefined);
    if (real) found.push({ path: real, isUpper });
  }
  return found;
}

/**
 * Returns the devices of overlays in SRC and DEST whose ctimes prove nothing: a layer is on a file system whose ctimes are not
 * trusted, or `metacopy` hides that the content of a file changed.
 */
export async function distrustedDevices(
  table: MountTable,
  roots: readonly Root[],
): Promise<number[]> {
  if (!table.hasOverlays) return [];
  const overlays = new Map<string, Buffer>(); // by the device, a place in it
  for (const { src, dest } of roots) {
    const there = await run(nearest(trimSlashes(dest))).catch(() => src); // the copy reports it
    for (const path of [src, there]) {
      const real = await run(realpath(path)).catch(() => path);
      for (const { device, at, mount } of table.placesIn(real))
        if (mount.layers?.length) overlays.set(device, at);
    }
  }
  const layers = new Layers(table, []);
  const found: number[] = [];
  for (const [device, at] of overlays) {
    const isTrusted = (await layers.of(device)).every((layer) =>
      table
        .mountsOf(layer.device)
        .every(({ fileSystem }) => fileSystem === 'overlay' || localFileSystems.has(fileSystem)),
    );
    if (isTrusted && !table.mountsOf(device)[0]?.metacopy) continue;
    const there = await promises.stat(at).catch(() => undefined);
    if (there) found.push(there.dev);
  }
  return found;
}
