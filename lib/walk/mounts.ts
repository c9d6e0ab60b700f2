/** Lists mounts if the system reports them: in /proc on Linux, by a command on macOS. */
import { promises } from 'node:fs';
import { needsProc } from '../errors.js';
import { join, namesFrom } from './paths.js';
import { rename } from './walk.js';

const MOUNTS = '/proc/self/mountinfo';
const slash = 0x2f;

export interface Layer {
  path: Buffer;
  /** Entries of the overlay that are changed or deleted change here. */
  isUpper: boolean;
}

export interface Mount {
  /** Absolute, without symlinks. */
  path: Buffer;
  fileSystem: string;
  readOnly: boolean;
  /**
   * The directory of the file system that is mounted, the device, and the numbers of this mount and of the one that it is
   * in. Only on Linux.
   */
  root?: Buffer;
  device?: string;
  id?: string;
  parent?: string;
  /** The directories that an overlay consists of, as its options name them. Only on Linux. */
  layers?: Layer[];
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
  const [id = '', parent = '', device = '', root = '', path = '', options = ''] = of.split(' ');
  const [fileSystem = '', , superOptions = ''] = how.split(' ');
  const bytes = (text: string): Buffer => {
    const unescaped = text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return Buffer.from(unescaped, 'latin1');
  };
  const layers = (fileSystem === 'overlay' ? layersOf(superOptions) : []).map(
    ({ path, isUpper }) => ({ path: bytes(path), isUpper }),
  );
  const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
  return { path: bytes(path), fileSystem, readOnly, root: bytes(root), device, id, parent, layers };
}

/** `rw,lowerdir=/one:/two,upperdir=/up,workdir=/work`, also `lowerdir+=/one` */
function layersOf(options: string): { path: string; isUpper: boolean }[] {
  return options.split(',').flatMap((option) => {
    const [, name, value] = /^(lowerdir\+?|upperdir|workdir)=(.+)$/.exec(option) ?? [];
    const paths = value?.split(':').filter(Boolean) ?? [];
    return paths.map((path) => ({ path, isUpper: name === 'upperdir' }));
  });
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
  return new MountTable(all).lookup(directory);
}

/** A path on a file system, whatever part of that is mounted, and where a mount shows it. */
export interface Place {
  device: string;
  path: Buffer;
  at: Buffer;
  mount: Mount;
}

/** An overlay, by the place where it is mounted. */
export interface Overlay {
  at: Buffer;
  layers: readonly Layer[];
}

/** The mounts of one moment. */
export class MountTable {
  readonly #all: readonly Mount[];
  /** By the parent's number, and by path. */
  readonly #below = new Map<string | undefined, Map<string, Mount>>();

  constructor(all: readonly Mount[]) {
    this.#all = all;
    const listed = new Set(all.map(({ id }) => id));
    for (const mount of all) {
      // The root's parent is not listed, or is the root itself (gVisor).
      const isTop = mount.parent === mount.id || !listed.has(mount.parent);
      const parent = isTop ? undefined : mount.parent;
      const siblings = this.#below.get(parent) ?? new Map<string, Mount>();
      this.#below.set(parent, siblings.set(mount.path.toString('latin1'), mount));
    }
  }

  /**
   * Returns the mount that shows a path. Goes from mount to mount, as the system does, so it never finds one that another mount
   * hides.
   */
  lookup(path: Buffer): Mount | undefined {
    let found: Mount | undefined;
    let at: Buffer = Buffer.from('/');
    for (const name of [undefined, ...namesFrom(at, path)]) {
      if (name) at = join(at, name);
      const text = at.toString('latin1');
      // One may be mounted over the other.
      for (;;) {
        const next = this.#below.get(found?.id)?.get(text);
        if (!next) break;
        found = next;
      }
    }
    return found;
  }

  /** Returns the places of a directory and of all mounts in it. The directory is given without symlinks. */
  placesIn(directory: Buffer): Place[] {
    const own = this.lookup(directory);
    const below = this.#all.filter(
      ({ path }) => isWithin(path, directory) && !path.equals(directory),
    );
    return [
      ...(own ? placeOf(own, directory) : []),
      ...below.flatMap((mount) => placeOf(mount, mount.path)),
    ];
  }

  /** Returns whether a mount shows its place, and no other mount hides that. */
  shows({ mount }: Place, at: Buffer): boolean {
    return this.lookup(at) === mount;
  }

  /** Returns the overlays that show something in a directory, by its places. */
  overlaysAt(places: readonly Place[]): Overlay[] {
    return places
      .filter((place) => place.mount.layers?.length && this.shows(place, place.at))
      .map(({ mount: { path: at, layers = [] } }) => ({ at, layers }));
  }
}

function placeOf(mount: Mount, at: Buffer): Place[] {
  const { device, root } = mount;
  if (device === undefined || !root) return [];
  return [{ device, path: namesFrom(mount.path, at).reduce(join, root), at, mount }];
}

/** A tree and what it shows. */
export interface Shown {
  /** Without symlinks. */
  directory: Buffer;
  places: readonly Place[];
}

/** An entry that is in SRC and in DEST, by the names that lead there. No names: SRC, or DEST, itself. */
export interface Shared {
  inSrc: Buffer[];
  inDest: Buffer[];
}

/**
 * Returns the entries that seem to be both in SRC and in DEST, by bind mounts. A server tells nothing about its own directories,
 * so the caller must compare the two entries. Only Linux tells enough.
 */
export function sharedByMounts(table: MountTable, src: Shown, dest: Shown): Shared[] {
  return src.places.flatMap((one) =>
    dest.places.flatMap((other): Shared[] => {
      if (one.device !== other.device) return [];
      const [outer, inner] = isWithin(one.path, other.path) ? [other, one] : [one, other];
      if (!isWithin(inner.path, outer.path)) return [];
      // Where the outer one shows the inner one's directory.
      const at = namesFrom(outer.path, inner.path).reduce(join, outer.at);
      if (!table.shows(inner, inner.at) || !table.shows(outer, at)) return [];
      const [srcPath, destPath] = outer === one ? [at, inner.at] : [inner.at, at];
      return [
        { inSrc: namesFrom(src.directory, srcPath), inDest: namesFrom(dest.directory, destPath) },
      ];
    }),
  );
}

function deviceOf(path: Buffer): Promise<number | undefined> {
  return promises.stat(path).then(
    ({ dev }) => dev,
    () => undefined,
  );
}

/** Returns whether a path is a directory itself or below it. */
export function isWithin(path: Buffer, directory: Buffer): boolean {
  const { length } = directory;
  if (path.length < length || directory.compare(path, 0, length) !== 0) return false;
  return path.length === length || path[length] === slash || directory[length - 1] === slash;
}

/** Returns the mount points at or below a directory, which is given without symlinks. */
export async function mountsWithin(directory: Buffer): Promise<Buffer[]> {
  return (await mounts()).map(({ path }) => path).filter((path) => isWithin(path, directory));
}
