/**
 * Answers the engine's questions about the entries of directories. Many small directories are answered in one
 * turn of the event loop, which gets its turn in between. Promises of a filter are awaited without delaying
 * other directories.
 */

import { setMaxListeners } from 'node:events';
import { promises } from 'node:fs';
import { join } from 'node:path';
import { abortClasses, isThenable } from '../builtins.js';
import { CopyError } from '../errors/copy-error.js';
import { LoopTurn } from '../io/clock.js';
import { baseName, join as joinBytes, type ShownPaths } from '../paths.js';
import type { Placement, Root } from '../placement/placement.js';
import type { Request } from '../request/request.js';
import {
  createSelection,
  type DirectoryScope,
  type EntryFilter,
  filterSelection,
  type Judged,
  type Listed,
  type Selection,
  type Verdict,
  verdicts,
} from '../selection/index.js';
import { unusedWarnings } from '../selection/unused.js';
import type { CopyWarning, EntryKind } from '../types.js';
import type { NativeJob } from './native.js';
import { type AskedEntries, readQuestions } from './questions.js';

/** Bytes of questions that are read at a time. */
const batchSize = 64 << 10;
/** If the answers of so many directories are awaited, no further batch of questions is read. */
const mostOpen = 64;

/** Receives everything that is not an answer. */
export interface Listener {
  /** No more questions are read while this returns true. */
  isFull(): boolean;
  warning(warning: CopyWarning): void;
  /** The rules of a directory cannot be read. Nothing in it is copied. */
  unreadable(error: CopyError): void;
  excluded(root: Root, path: string, kind: EntryKind, reason: string): void;
  /** The user's filter threw, or with `deleteExcluded` it is not known what is excluded. */
  failed(thrown: unknown): void;
}

interface Asked {
  root: Root;
  selection: Selection;
  scope: DirectoryScope;
}

type Question = Asked & Omit<AskedEntries, 'scope'>;

/** Returns the user's filter for the entries of one root, with paths below that root. */
function filterOf(
  root: Root,
  shown: ShownPaths,
  { filter, signal }: Request,
): EntryFilter | undefined {
  if (!filter) return undefined;
  const [src, dest] = [shown.src(root.src), shown.dest(root.dest)];
  return (entry) => {
    signal?.throwIfAborted(); // more entries of the same directory may follow
    return filter(join(src, entry.path), join(dest, entry.path), entry);
  };
}

export class Answers {
  #scopes = new Map<number, Asked>();
  /** The roots of which a selection decides, by their scopes. */
  #roots = new Map<number, Asked>();
  #lastScope = 0;
  #busy = false;
  #open = 0;
  #over = false;
  /** Excluded entries of DEST are deleted, so the copy ends where it is not known what is excluded. */
  #deletesExcluded = false;
  #turn = new LoopTurn();
  /** Ends git, if that may be asked. */
  #ending: AbortController | undefined;

  /** Reads the rules of every root, and marks the roots whose entries JavaScript selects. */
  static async prepare({ roots, shown }: Placement, request: Request): Promise<Answers> {
    const answers = new Answers();
    answers.#deletesExcluded = request.deleteExcluded;
    let { signal } = request;
    if (request.gitignore || request.onlyIgnored) {
      const { AbortController, AbortSignal } = abortClasses();
      answers.#ending = new AbortController();
      const { signal: end } = answers.#ending;
      signal = signal ? AbortSignal.any([signal, end]) : end;
      setMaxListeners(0, signal); // a listener for each git that runs
    }
    if (request.worktree) {
      const { refuseUnlessWorktrees } = await import('../selection/worktrees.js');
      for (const root of roots) await refuseUnlessWorktrees(root, shown, signal);
    }
    for (const root of [...roots]) {
      const filter = filterOf(root, shown, request);
      const entry = { path: '', name: baseName(root.src).toString(), kind: root.kind };
      if (filter && request.like === 'fastcp' && !(await filter(entry))) {
        roots.splice(roots.indexOf(root), 1);
        continue;
      }
      if (root.kind !== 'directory') continue;
      const options = { ...request, filter, explain: request.entries, signal };
      const selecting = createSelection(root.src, options, shown.src(root.src));
      const selection = await selecting.catch((error) => {
        answers.end(); // another git may still run
        throw error;
      });
      if (!selection) continue;
      const asked = { root, selection, scope: selection.root };
      root.scope = answers.#add(asked);
      answers.#roots.set(root.scope, asked);
    }
    return answers;
  }

  /** Does the same as prepare(), if only the filter selects. The filter must not return a promise. */
  static prepareNow({ roots, shown }: Placement, request: Request): Answers {
    const answers = new Answers();
    for (const root of roots) {
      const filter = filterOf(root, shown, request);
      if (root.kind !== 'directory' || !filter) continue;
      const selection = filterSelection(filter);
      root.scope = answers.#add({ root, selection, scope: selection.root });
    }
    return answers;
  }

  /**
   * Judges an entry below a root, whether or not it exists. `names` are the names on the way to it; all but the
   * last are directories.
   */
  async verdictOn(root: Root, names: readonly Buffer[], kind: EntryKind): Promise<Verdict> {
    const asked = this.#roots.get(root.scope);
    if (!asked) return verdicts.takeAll;
    let verdict: Verdict = verdicts.take;
    let scope: DirectoryScope | undefined = asked.scope;
    let at = root.src;
    for (const [index, bytes] of names.entries()) {
      if (!scope) return verdict;
      const name = bytes.toString('latin1');
      const entered: DirectoryScope = await asked.selection.enter(scope, await listed(at));
      const entry: Listed = { name, kind: index === names.length - 1 ? kind : 'directory' };
      const judged: Judged = await asked.selection.judge(entered, [entry]);
      verdict = judged.verdicts[0] as Verdict;
      [scope] = judged.scopes;
      at = joinBytes(at, bytes);
    }
    return verdict;
  }

  /** Returns warnings about what the selection never met. Call it after all questions. */
  async unused(request: Request, isEmpty: boolean): Promise<CopyWarning[]> {
    return this.#roots.size > 0 ? unusedWarnings([...this.#roots.values()], request, isEmpty) : [];
  }

  /** Returns what .worktreeinclude leaves out of what git ignores. */
  leftOut({ shown }: Request): string[] {
    const paths = [...this.#roots.values()].flatMap(({ root, selection }) =>
      [...(selection.gitignore?.include?.leftOut ?? [])].map((below) =>
        shown.src(joinBytes(root.src, Buffer.from(below, 'latin1'))),
      ),
    );
    return paths.sort();
  }

  /** Answers nothing more, because the copy ends. Ends git, which may still run for a directory that waits for it. */
  end(): void {
    this.#over = true;
    this.#ending?.abort();
  }

  #add(asked: Asked): number {
    this.#lastScope += 1;
    this.#scopes.set(this.#lastScope, asked);
    return this.#lastScope;
  }

  /** Starts answering, unless it is running. Called when questions wait, or there is room again. */
  answer(job: NativeJob, listener: Listener): void {
    if (this.#busy || this.#over) return;
    this.#busy = true;
    this.#turn.begin();
    void this.#answerAll(job, listener);
  }

  /**
   * Answers for one entry, which has to be copied before the next call, as cpSync() and copySync() do. Returns false if none
   * waits. Throws the filter's exceptions.
   */
  answerNow(job: NativeJob): boolean {
    const batch = job.takeEntry();
    for (const question of this.#read(batch, true)) {
      const judged = question.selection.judge(question.scope, question.entries);
      if (isThenable(judged)) throw new TypeError('fastcp: a promise in a synchronous copy');
      this.#send(job, question, judged);
    }
    return batch.length > 0;
  }

  /** Never rejects. */
  async #answerAll(job: NativeJob, listener: Listener): Promise<void> {
    try {
      while (!this.#over && this.#open < mostOpen && !listener.isFull()) {
        const batch = job.takeQuestions(batchSize);
        if (batch.length === 0) break;
        for (const question of this.#read(batch)) {
          this.#answerOne(job, listener, question);
          if (this.#turn.isLate()) await this.#turn.next();
        }
      }
    } catch (thrown) {
      this.#fail(listener, thrown);
    } finally {
      this.#busy = false;
    }
  }

  #answerOne(job: NativeJob, listener: Listener, question: Question): void {
    const judged = this.#judge(listener, question);
    if (!isThenable(judged)) {
      this.#tell(job, listener, question, judged);
      return;
    }
    this.#open += 1;
    judged
      .then((answer) => this.#tell(job, listener, question, answer))
      .catch((thrown) => this.#fail(listener, thrown))
      .finally(() => {
        this.#open -= 1;
        this.answer(job, listener);
      });
  }

  #judge(listener: Listener, question: Question): Judged | Promise<Judged> {
    const { selection, scope, entries, own } = question;
    const inSource = own === entries.length ? entries : entries.slice(0, own);
    const unreadable = (error: unknown): undefined => {
      if (!(error instanceof CopyError) || this.#deletesExcluded) throw error;
      listener.unreadable(error);
    };
    let here: DirectoryScope | undefined | Promise<DirectoryScope | undefined>;
    try {
      here = selection.enter(scope, inSource);
      if (isThenable(here)) here = here.catch(unreadable);
    } catch (error) {
      here = unreadable(error);
    }
    if (isThenable(here) || entries.length > selection.slice)
      return this.#judgeSlowly(question, here);
    return here ? selection.judge(here, entries) : nothing(entries);
  }

  async #judgeSlowly(
    { selection, entries }: Question,
    here: DirectoryScope | undefined | Promise<DirectoryScope | undefined>,
  ): Promise<Judged> {
    const scope = await here;
    const all = nothing(entries);
    if (!scope) return all;
    const { slice } = selection;
    for (let from = 0; from < entries.length && !this.#over; from += slice) {
      const part = await selection.judge(scope, entries.slice(from, from + slice));
      all.verdicts.set(part.verdicts, from);
      part.scopes.forEach((below, index) => {
        all.scopes[from + index] = below;
      });
      part.reasons?.forEach((reason, index) => {
        all.reasons ??= new Array(entries.length);
        all.reasons[from + index] = reason;
      });
      if (this.#turn.isLate()) await this.#turn.next();
    }
    return all;
  }

  #tell(job: NativeJob, listener: Listener, question: Question, judged: Judged): void {
    if (this.#over) return;
    const { root, selection, scope, entries, own } = question;
    for (const warning of selection.warnings.splice(0)) listener.warning(warning);
    judged.reasons?.forEach((reason, index) => {
      const { name, kind } = entries[index] as Listed;
      if (reason && index < own) listener.excluded(root, scope.path + name, kind, reason);
    });
    this.#send(job, question, judged);
  }

  #send(job: NativeJob, { id, root, selection }: Question, judged: Judged): void {
    const below: number[] = [];
    for (const one of judged.scopes) {
      if (one) below.push(this.#add({ root, selection, scope: one }));
    }
    job.answer(id, judged.verdicts, Uint32Array.from(below));
  }

  #fail(listener: Listener, thrown: unknown): void {
    if (this.#over) return;
    this.#over = true;
    listener.failed(thrown);
  }

  /** Finds the directories of questions. `again`: more questions about the same directory follow. */
  *#read(batch: Buffer, again = false): Generator<Question> {
    for (const { scope, ...question } of readQuestions(batch)) {
      const asked = this.#scopes.get(scope) as Asked;
      if (!again) this.#scopes.delete(scope); // a directory is asked about once
      yield { ...question, ...asked };
    }
  }
}

/** Returns the entries of a directory; none if it cannot be listed. */
async function listed(directory: Buffer): Promise<Listed[]> {
  const options = { encoding: 'buffer', withFileTypes: true } as const;
  const entries = await promises.readdir(directory, options).catch(() => []);
  return entries.map((entry) => ({
    name: entry.name.toString('latin1'),
    kind: entry.isFile() ? 'file' : 'directory',
  }));
}

function nothing(entries: readonly Listed[]): Judged {
  return { verdicts: new Uint8Array(entries.length), scopes: [] };
}
