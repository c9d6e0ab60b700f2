/** What is copied on, as data. Source and DEST always share one, so that blocks can be shared. */
export type FileSystemName = 'tmpfs' | 'ext4' | 'xfs' | 'btrfs' | 'overlay';

export interface FileSystem {
  name: FileSystemName;
  kind: 'tmpfs' | 'image' | 'overlay';
  /** Makes the file system in an image, whose path comes last. */
  maker?: string[];
  /** Where the maker comes from on Debian. */
  package?: string;
}

export const fileSystems: FileSystem[] = [
  { name: 'tmpfs', kind: 'tmpfs' },
  {
    name: 'ext4',
    kind: 'image',
    // All written now: what the kernel does later in the background would be in the figures.
    maker: ['mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0'],
    package: 'e2fsprogs',
  },
  {
    name: 'xfs',
    kind: 'image',
    maker: ['mkfs.xfs', '-q', '-m', 'reflink=1'],
    package: 'xfsprogs',
  },
  {
    name: 'btrfs',
    kind: 'image',
    maker: ['mkfs.btrfs', '-q'],
    package: 'btrfs-progs',
  },
  { name: 'overlay', kind: 'overlay' },
];
