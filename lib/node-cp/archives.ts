/**
 * Archives that look like directories to programs whose `fs` was patched: Yarn's Plug'n'Play and Electron's asar. The engine and the
 * kernel see a file, so the host's own functions have to copy out of them.
 */
import { cp, cpSync } from 'node:fs';
import type { CopyError } from '../errors/copy-error.js';
import type { PathLike } from '../types.js';
import { type PathFilter, pathText, type Rules } from './request.js';

// As they are when this module loads: a program may later put fastcp's in their place.
const host = { cp, cpSync };

interface Call {
  src: PathLike;
  dest: PathLike;
  rules: Rules;
  filter: PathFilter | undefined;
}

/** Returns whether a copy failed because SRC is in such an archive. */
export function isInArchive({ code }: CopyError, { src }: Pick<Call, 'src'>): boolean {
  const { pnp, electron } = process.versions;
  const archive = pnp ? /\.zip\/|\/(__virtual__|\$\$virtual)\// : electron ? /\.asar\// : undefined;
  return (code === 'ENOENT' || code === 'ENOTDIR') && archive?.test(pathText(src)) === true;
}

export function copyFromArchive({ src, dest, rules, filter }: Call): Promise<void> {
  const options = { ...optionsOf(rules), ...(filter && { filter }) };
  return new Promise((resolve, reject) => {
    host.cp(pathText(src), pathText(dest), options, (error) => (error ? reject(error) : resolve()));
  });
}

export function copyFromArchiveNow({ src, dest, rules, filter }: Call): void {
  const asks = filter && ((from: string, to: string) => filter(from, to) as boolean);
  host.cpSync(pathText(src), pathText(dest), {
    ...optionsOf(rules),
    ...(asks && { filter: asks }),
  });
}

function optionsOf({ like, clone, ...options }: Rules): Omit<Rules, 'like' | 'clone'> {
  return options;
}
