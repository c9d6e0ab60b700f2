/** Where a copy lands: what findRoots() has found. */
import type { NativeRoot } from '../bridge/native.js';
import type { CopyError } from '../errors/copy-error.js';
import type { Looks } from '../io/looks.js';
import { directoryOf, movedTo, type ShownPaths } from '../paths.js';
import type { EntryKind } from '../types.js';

export interface Root extends NativeRoot {
  kind: EntryKind;
  /** The size of a file; 0 for all other kinds. */
  bytes: number;
  /** What DEST is created with, if SRC is a directory: the mode of directory_creation_mode() in engine/entry/metadata.cc. */
  mode: number;
  /** The names that lead from SRC to DEST, if DEST is within SRC. The selection must then exclude DEST. */
  inside?: readonly Buffer[];
}

export interface Placement {
  roots: Root[];
  /** The roots land in DEST under their names, not at DEST's own path. */
  into: boolean;
  shown: ShownPaths;
  /** Of several sources, if the copy continues after errors: those that are missing or refused. */
  errors: CopyError[];
  /** What was looked at. */
  looks: Looks;
  /** Devices of overlays whose ctimes prove nothing. Empty unless the copy syncs. */
  distrusted?: readonly number[];
}

/** Returns a placement that copies one root to another place. Messages and the filter still see its DEST. */
export function redirect(placement: Placement, root: Root, to: Buffer): Placement {
  const { src, dest } = placement.shown;
  return {
    ...placement,
    roots: [{ ...root, dest: to, destHeld: -1, made: false }],
    shown: { src, dest: (path) => dest(movedTo(path, to, root.dest)) },
  };
}

/** Returns the directory that must stay, so that a source stays. */
export function directoryToKeep({ src, kind, followSrc }: Root): Buffer {
  return kind === 'directory' || followSrc ? src : directoryOf(src);
}
