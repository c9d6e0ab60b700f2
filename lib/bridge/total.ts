/** The number of entries that a copy will scan, counted while it runs. */

import type { Root } from '../placement/placement.js';
import { type Request, selects } from '../request/request.js';
import { countAhead, forget, type NativeCount } from './native.js';

export class Total {
  /** Of all sources together, if each is a file. */
  readonly bytes: number | undefined;
  readonly #roots: number;
  readonly #count: NativeCount;

  /** Returns undefined if a listing cannot tell what will be scanned. */
  static of(roots: readonly Root[], request: Request): Total | undefined {
    if (selects(request) || request.dereference || request.shards > 1) return undefined;
    return new Total(roots, request);
  }

  constructor(roots: readonly Root[], { oneFileSystem, sync, verify, hardLink, symlink }: Request) {
    const directories = roots.filter(({ kind }) => kind === 'directory');
    this.#roots = roots.length;
    // Only copying counts bytes, not comparing or linking.
    const copies = !(sync || verify || hardLink || symlink);
    if (copies && roots.every(({ kind }) => kind === 'file'))
      this.bytes = roots.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#count = countAhead(
      directories.map(({ src }) => src),
      oneFileSystem,
    );
  }

  /** Returns undefined while the count goes on, and for ever if it failed. */
  known(): number | undefined {
    const below = this.#count.total();
    return below < 0 ? undefined : this.#roots + below;
  }

  stop(): void {
    this.#count.stop();
    forget(this.#count);
  }
}
