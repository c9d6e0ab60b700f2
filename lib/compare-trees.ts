/** Compares two trees: plans a mirror of one in the place of the other, and changes nothing. */
import { type BigIntStats, lstatSync, statSync } from 'node:fs';
import { sep } from 'node:path';
import { Report } from './bridge/result.js';
import { run } from './copy-tree.js';
import { refuseOption } from './errors/arguments.js';
import { unlessAborted } from './io/abort.js';
import { Looks } from './io/looks.js';
import { directoryOf, trimSlashes } from './paths.js';
import { namesDescriptor, openedPath } from './placement/descriptor.js';
import { checkObject, checkRequest } from './request/options.js';
import type { Request } from './request/request.js';
import { comparisonOptions, table } from './request/table.js';
import { preserved } from './request/values.js';
import type {
  CompareOptions,
  CompareResult,
  Difference,
  EntryEvent,
  PathLike,
  PreserveKind,
} from './types.js';

/**
 * Finds the differences between two trees, and writes nothing. Compares entries, kinds, contents and symlink
 * targets. `preserve` selects further kinds: modes (the default), timestamps, owners, extended attributes with
 * ACLs, and hard links.
 *
 * With `onError: 'continue'` unreadable entries are in `errors`. Otherwise, and if `a` or `b` is missing, the promise
 * rejects with the first CopyError, even if only one of the two is a directory. Rejects with `signal.reason`, with exactly the
 * value that the filter throws, and for wrong arguments with the errors that copyTree() throws.
 */
export async function compareTrees(
  a: PathLike,
  b: PathLike,
  options: CompareOptions = {},
): Promise<CompareResult> {
  const request = compareRequest(a, b, options);
  const { signal, dest, shown } = request;
  const looks = new Looks();
  const ahead = [looks.fetch('stat', dest), looks.fetch('realpath', directoryOf(dest))];
  await unlessAborted(signal, Promise.all(ahead));
  request.dest = openedAs(dest, shown.dest(dest), looks);
  const report = new Report();
  const { events } = report;
  const differences = new Differences(request);
  events.listen();
  const running = run(request, report);
  const reading = (async () => {
    for await (const event of { [Symbol.asyncIterator]: () => events }) {
      if (event.type === 'entry') differences.add(event);
    }
  })();
  const [result] = await Promise.all([running, reading]);
  const { errors, errorCount, warnings, scanned, durationMs } = result;
  return { differences: differences.list(), scanned, errors, errorCount, warnings, durationMs };
}

/**
 * Returns the path of B, which must exist. If B names an open file descriptor, returns the path of the open
 * file, as for A.
 */
function openedAs(b: Buffer, shown: string, looks: Looks): Buffer {
  looks.statEntry(b, true, shown);
  return namesDescriptor(b, false, looks) ? openedPath(b, shown, looks) : b;
}

function compareRequest(a: PathLike, b: PathLike, options: CompareOptions): Request {
  checkObject(options);
  for (const [name, value] of Object.entries(options)) {
    const isMeant = (comparisonOptions as readonly string[]).includes(name);
    if (value === undefined || isMeant || !Object.hasOwn(table, name)) continue;
    throw refuseOption(name, 'means nothing to a comparison');
  }
  const given = { preserve: ['mode'], ...options } as const;
  const request = checkRequest(a, b, { ...given, mirror: true, checksum: true, dryRun: true });
  const { preserve } = preserved(given.preserve);
  return { ...request, dest: trimSlashes(request.dest), preserve, compares: true, entries: true };
}

/** Collects differences. A directory on only one side stands for everything in it. */
class Differences {
  #onlyA = new Map<string, Difference>();
  #onlyB = new Map<string, Difference>();
  #others = new Map<string, Difference>();
  #linked: Linked[] = [];
  #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  add({ action, kind, path, dest }: EntryEvent): void {
    const difference = { kind, a: path, b: dest };
    if (action === 'hardLink') {
      this.#linked.push(readLinked(difference));
    } else if (action === 'create' || action === 'copy') {
      if (kind === 'socket') return; // no copy creates it
      this.#onlyA.set(path, { type: 'onlyInA', ...difference });
    } else if (action === 'delete') {
      this.#onlyB.set(dest, { type: 'onlyInB', ...difference });
    } else if (action === 'replace') {
      this.#others.set(path, { type: 'content', ...difference });
    } else if (action === 'metadata') {
      const metadata = metadataOf(path, dest, this.#request);
      this.#others.set(path, { type: 'metadata', ...difference, metadata });
    }
  }

  list(): Difference[] {
    for (const { kind, a, b } of regrouped(this.#linked)) {
      const metadata = ['hard links'];
      if (!this.#others.has(a)) this.#others.set(a, { type: 'metadata', kind, a, b, metadata });
    }
    const all = [...topmost(this.#onlyA), ...topmost(this.#onlyB), ...this.#others.values()];
    return all.sort(byPath);
  }
}

/** Returns what differs, for people. What a look at both does not show is in extended attributes, of which ACLs are some. */
function metadataOf(a: string, b: string, { preserve, dereference }: Request): string[] {
  const look = (path: string) => {
    const options = { bigint: true, throwIfNoEntry: false } as const;
    return dereference ? statSync(path, options) : lstatSync(path, options);
  };
  const found: string[] = [];
  try {
    const [one, other] = [look(a), look(b)];
    if (!one || !other) return found;
    const told = (kind: PreserveKind, name: string, of: (stat: BigIntStats) => string): void => {
      const [mine, theirs] = [of(one), of(other)];
      if (preserve.includes(kind) && mine !== theirs) found.push(`${name} ${mine} != ${theirs}`);
    };
    told('mode', 'mode', ({ mode }) => (mode & 0o7777n).toString(8));
    told('ownership', 'owner', ({ uid, gid }) => `${uid}:${gid}`);
    if (preserve.includes('timestamps') && one.mtimeNs !== other.mtimeNs) found.push('mtime');
    if (found.length === 0 && preserve.includes('xattrs')) found.push('extended attributes');
  } catch {} // it has changed, or the look is denied
  return found;
}

/** A name that both trees have, and the identity of its file in each tree. */
interface Linked extends Omit<Difference, 'type'> {
  fileOfA: string;
  fileOfB: string;
}

/** Reads a record of note_identities() in binding/src/engine/entry/unchanged.cc. */
function readLinked({ kind, a, b }: Omit<Difference, 'type'>): Linked {
  const [pathA = '', fileOfA = ''] = a.split('\0');
  const [pathB = '', fileOfB = ''] = b.split('\0');
  return { kind, a: pathA, b: pathB, fileOfA, fileOfB };
}

/** Returns names whose file has another first name in one tree than in the other. */
function* regrouped(linked: Linked[]): Generator<Linked> {
  const [firstInA, firstInB] = [new Map<string, Linked>(), new Map<string, Linked>()];
  for (const name of linked.sort(byPath)) {
    if (!firstInA.has(name.fileOfA)) firstInA.set(name.fileOfA, name);
    if (!firstInB.has(name.fileOfB)) firstInB.set(name.fileOfB, name);
    if (firstInA.get(name.fileOfA) !== firstInB.get(name.fileOfB)) yield name;
  }
}

function byPath(one: { a: string }, other: { a: string }): number {
  return one.a < other.a ? -1 : one.a > other.a ? 1 : 0;
}

function* topmost(found: Map<string, Difference>): Generator<Difference> {
  for (const [path, difference] of found) {
    if (!found.has(path.slice(0, Math.max(path.lastIndexOf(sep), 0)))) yield difference;
  }
}
