/** Two trees side by side: a mirror of one in the place of the other that is planned and not made. */
import { sep } from 'node:path';
import { run } from './copy-tree.js';
import { invalidValue } from './errors.js';
import { EventQueue } from './events.js';
import { checkRequest, preserved, type Request } from './options.js';
import { trimSlashes } from './paths.js';
import { Report } from './result.js';
import { run as runSteps } from './steps.js';
import type {
  CompareOptions,
  CompareResult,
  Difference,
  EntryEvent,
  PathLike,
  PreserveKind,
} from './types.js';
import { statEntry } from './walk.js';

const compared: readonly PreserveKind[] = ['mode', 'timestamps', 'ownership'];

/**
 * Finds what differs between two trees: entries that only one has, kinds, contents, the texts of links
 * and, as `preserve` names them, modes (the default), times and owners. Nothing is written. With
 * `onError: 'continue'` what cannot be read is in `errors`; otherwise the promise rejects with the first
 * CopyError. Rejects with `signal.reason`, and with exactly what the filter throws. Throws for wrong
 * arguments as copyTree() does.
 */
export async function compareTrees(
  a: PathLike,
  b: PathLike,
  options: CompareOptions = {},
): Promise<CompareResult> {
  const request = compareRequest(a, b, options);
  await runSteps(statEntry(request.dest, true, request.shown.dest(request.dest)));
  const events = new EventQueue();
  const differences = new Differences();
  events.listen();
  const running = run(request, events, new Report(request.warnings));
  const reading = (async () => {
    for await (const event of { [Symbol.asyncIterator]: () => events }) {
      if (event.type === 'entry') differences.add(event);
    }
  })();
  const [{ errors, errorCount, found, durationMs }] = await Promise.all([running, reading]);
  return { differences: differences.list(), found, errors, errorCount, durationMs };
}

function compareRequest(a: PathLike, b: PathLike, options: CompareOptions): Request {
  const given = { preserve: ['mode'], ...options } as const;
  const request = checkRequest(a, b, { ...given, mirror: true, checksum: true, dryRun: true });
  const { preserve } = preserved(given.preserve);
  const unknown = preserve.find((kind) => !compared.includes(kind));
  if (unknown && options.preserve !== true) {
    throw invalidValue('options.preserve', 'mode, timestamps or ownership to compare', unknown);
  }
  return { ...request, dest: trimSlashes(request.dest), preserve, compares: true, entries: true };
}

/** A folder that only one side has stands for all in it. */
class Differences {
  #onlyA = new Map<string, Difference>();
  #onlyB = new Map<string, Difference>();
  #others: Difference[] = [];

  add({ action, kind, path, dest }: EntryEvent): void {
    const difference = { kind, a: path, b: dest };
    if (action === 'make' || action === 'copy' || action === 'link') {
      this.#onlyA.set(path, { type: 'onlyInA', ...difference });
    } else if (action === 'remove') {
      this.#onlyB.set(dest, { type: 'onlyInB', ...difference });
    } else if (action === 'replace') {
      this.#others.push({ type: 'content', ...difference });
    } else if (action === 'touch') {
      this.#others.push({ type: 'metadata', ...difference });
    }
  }

  list(): Difference[] {
    const all = [...topmost(this.#onlyA), ...topmost(this.#onlyB), ...this.#others];
    return all.sort((one, other) => (one.a < other.a ? -1 : one.a > other.a ? 1 : 0));
  }
}

function* topmost(found: Map<string, Difference>): Generator<Difference> {
  for (const [path, difference] of found) {
    if (!found.has(path.slice(0, Math.max(path.lastIndexOf(sep), 0)))) yield difference;
  }
}
