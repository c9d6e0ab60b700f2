// Entries of a tree, and the filter that selects them.

/**
 * Decides whether an entry is copied, as in `fs.cp`. `src` and `dest` are the entry's paths, made of the paths that were
 * passed to `copyTree()`. Names that are not UTF-8 hold a character per byte.
 */
export type Filter = (
  src: string,
  dest: string,
  entry: FilterEntry,
) => boolean | PromiseLike<boolean>;

/** An entry in SRC. Names that are not UTF-8 hold a character per byte. */
export interface FilterEntry {
  /** Relative to SRC, with forward slashes. */
  path: string;
  name: string;
  kind: EntryKind;
  /** The directory above; absent for SRC itself and for the entries directly in it. */
  parent?: FilterEntry;
}

export type EntryKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'fifo'
  | 'characterDevice'
  | 'blockDevice'
  | 'socket';
