/** Lists mounts if the system reports them: in /proc on Linux, by a command on macOS. */
import { promises } from 'node:fs';
import { getBuiltinModule } from '../builtins.js';
import { needsProc } from '../errors.js';
import { join, namesFrom } from './paths.js';
import { rename } from './walk.js';

const MOUNTS = '/proc/self/mountinfo';
const slash = 0x2f;

/**
 * File systems in which only this computer's calls change entries, and a change renews the ctime by its clock; also those that
 * cannot change. Others may also show directories that are elsewhere. has_own_clock() in platform/linux/linux.cc has the numbers
 * of the first ones.
 */
export const localFileSystems: ReadonlySet<string> = new Set([
  ...['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'tmpfs', 'ramfs', 'f2fs', 'zfs', 'bcachefs', 'jfs'],
  ...['squashfs', 'erofs', 'iso9660'],
]);

/** A directory that an overlay consists of. */
export interface Layer {
  /** As the option of the mount names it: perhaps with a backslash before some characters. */
  path: Buffer;
  /** Entries of the overlay that are changed or deleted change here. */
  isUpper: boolean;
}

export interface Mount {
  /** Absolute, without symlinks. */
  path: Buffer;
  fileSystem: string;
  /** For example `/dev/loop0`. Only on Linux. */
  source?: Buffer;
  readOnly: boolean;
  /**
   * The directory of the file system that is mounted, the device, and the numbers of this mount and of the one that it is
   * in. Only on Linux.
   */
  root?: Buffer;
  device?: string;
  id?: string;
  parent?: string;
  /** Only on Linux, and of overlays. */
  layers?: Layer[];
  /** In an overlay: a file of the upper layer may have its content in a lower one. */
  metacopy?: boolean;
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
    throw rename(error, MOUNTS, needsProc);
  });
  return text.split('\n').filter(Boolean).map(parse);
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function parse(line: string): Mount {
  const [of = '', how = ''] = line.split(' - ');
  const [id = '', parent = '', device = '', root = '', path = '', options = ''] = of.split(' ');
  const [fileSystem = '', source = '', superOptions = ''] = how.split(' ');
  const unescaped = (text: string): string =>
    text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
  const bytes = (text: string): Buffer => Buffer.from(unescaped(text), 'latin1');
  const layers = (fileSystem === 'overlay' ? superOptions.split(',') : []).flatMap((option) =>
    layersOf(unescaped(option)),
  );
  const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
  const metacopy = superOptions.split(',').includes('metacopy=on');
  return {
    ...{ path: bytes(path), fileSystem, source: bytes(source), readOnly, root: bytes(root) },
    ...{ device, id, parent, layers, metacopy },
  };
}

/** `lowerdir=/one:/two`, `lowerdir+=/one`, `upperdir=/up` or `workdir=/work`; `\:` is part of a name */
function layersOf(option: string): Layer[] {
  const [, name, value = ''] =
    /^(lowerdir\+?|datadir\+|upperdir|workdir)=(.+)$/s.exec(option) ?? [];
  const paths = name === 'lowerdir' ? (value.match(/(?:\\.|[^:\\])+/gs) ?? []) : [value];
  return paths
    .filter(Boolean)
    .map((path) => ({ path: Buffer.from(path, 'latin1'), isUpper: name === 'upperdir' }));
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

/** An entry by its file system and its path there, whatever part of that is mounted. */
export interface Location {
  device: string;
  path: Buffer;
}

/** Where a mount shows a location. */
export interface Place extends Location {
  at: Buffer;
  mount: Mount;
}

/** The mounts of one moment. */
export class MountTable {
  readonly #all: readonly Mount[];
  readonly #byId = new Map<string | undefined, Mount>();
  /** By the parent's number, and by path. */
  readonly #below = new Map<string | undefined, Map<string, Mount>>();

  constructor(all: readonly Mount[]) {
    this.#all = all;
    for (const mount of all) if (mount.id !== undefined) this.#byId.set(mount.id, mount);
    for (const mount of all) {
      // The root's parent is not listed, or is the root itself (gVisor). macOS tells no parents.
      const isTop = mount.parent === mount.id || !this.#byId.has(mount.parent);
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
        if (!next || next === found) break;
        found = next;
      }
    }
    return found;
  }

  /** Returns the places that a directory shows. The directory is given without symlinks. */
  placesIn(directory: Buffer): Place[] {
    const own = this.lookup(directory);
    const below = this.shownIn(directory).filter(({ path }) => !path.equals(directory));
    return [
      ...(own ? placeOf(own, directory) : []),
      ...below.flatMap((mount) => placeOf(mount, mount.path)),
    ];
  }

  /** Returns the mounts at or below a directory, but for those that another mount hides. */
  shownIn(directory: Buffer): Mount[] {
    return this.#all.filter(
      (mount) => isWithin(mount.path, directory) && this.lookup(mount.path) === mount,
    );
  }

  /**
   * Returns the mounts that a rename of a directory would move: also those that only a bind mount of it shows, and those in it
   * that another mount in it hides.
   */
  movedWith(directory: Buffer): Mount[] {
    const own = this.locate(directory);
    // macOS tells no locations. In a chroot the mount of the root may be missing.
    if (!own) return this.#all.filter(({ path }) => isWithin(path, directory));
    const isMoved = ({ path, parent }: Mount): boolean => {
      const above = this.#byId.get(parent);
      const [there] = above ? placeOf(above, path) : [];
      return there !== undefined && there.device === own.device && isWithin(there.path, own.path);
    };
    return [...new Set([...this.shownIn(directory), ...this.#all.filter(isMoved)])];
  }

  /** Returns the location of a path, which is given without symlinks. */
  locate(path: Buffer): Location | undefined {
    const mount = this.lookup(path);
    const place = mount && placeOf(mount, path)[0];
    return place && { device: place.device, path: place.path };
  }

  /** Returns the mounts of a file system. */
  mountsOf(device: string): Mount[] {
    return this.#all.filter((mount) => mount.device === device);
  }

  get hasOverlays(): boolean {
    return this.#all.some(({ layers }) => layers?.length);
  }
}

function placeOf(mount: Mount, at: Buffer): Place[] {
  const { device, root } = mount;
  if (device === undefined || !root) return [];
  return [{ device, path: namesFrom(mount.path, at).reduce(join, root), at, mount }];
}

/** A directory, without symlinks, and what it shows. */
export interface Tree<P extends Place = Place> {
  directory: Buffer;
  places: readonly P[];
}

/** An entry in two trees, by the places that show it and the names that lead there. No names: the tree itself. */
export interface Shared<P extends Place = Place> {
  one: P;
  other: P;
  inOne: Buffer[];
  inOther: Buffer[];
}

/** Finds the entries that two trees seem to show. A server tells nothing about its own directories. */
export function* sharedBy<P extends Place>(
  table: MountTable,
  first: Tree<P>,
  second: Tree<P>,
): Generator<Shared<P>> {
  for (const one of first.places) {
    for (const other of second.places) {
      if (one.device !== other.device) continue;
      const [outer, inner] = isWithin(one.path, other.path) ? [other, one] : [one, other];
      if (!isWithin(inner.path, outer.path)) continue;
      // Where the outer one shows the inner one's directory.
      const at = namesFrom(outer.path, inner.path).reduce(join, outer.at);
      if (table.lookup(at) !== outer.mount) continue;
      const [inOne, inOther] = outer === one ? [at, inner.at] : [inner.at, at];
      yield {
        ...{ one, other, inOne: namesFrom(first.directory, inOne) },
        inOther: namesFrom(second.directory, inOther),
      };
    }
  }
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

/** Returns the mount points that a rename of a directory would move. */
export async function mountsMovedWith(directory: Buffer): Promise<Buffer[]> {
  return new MountTable(await mounts()).movedWith(directory).map(({ path }) => path);
}
