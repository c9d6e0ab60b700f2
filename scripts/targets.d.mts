export interface Target {
  name: string;
  /** Relative to the package's root. */
  file: string;
  platform: NodeJS.Platform;
  arch: NodeJS.Architecture;
  libc?: 'glibc' | 'musl';
  ci?: boolean;
}
export const targets: Target[];
