/** Runs a copy with the rules of fs.cp or of fs-extra. */
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isUint8Array } from 'node:util/types';
import { Report } from '../bridge/result.js';
import { isThenable, isUrl, setImmediate } from '../builtins.js';
import { run as runCopy, runNow as runCopyNow } from '../copy-tree.js';
import { invalid, invalidType } from '../errors/arguments.js';
import { CopyError } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { Looks } from '../io/looks.js';
import { lookAhead } from '../placement/look-ahead.js';
import type { Request } from '../request/request.js';
import { CopyTurn } from '../turn.js';
import type { PathLike } from '../types.js';
import { copyFromArchive, copyFromArchiveNow, isInArchive } from './archives.js';
import {
  checkBeginning,
  checkEntries,
  type Found,
  filterBelow,
  foreignRequest,
  type PathFilter,
  pathText,
  type Rules,
  synchronous,
} from './request.js';

/** A call whose arguments were checked. Relative paths are those of the working directory at that time. */
export interface Call {
  src: PathLike;
  dest: PathLike;
  rules: Rules;
  filter: PathFilter | undefined;
  /** The working directory. */
  base: string;
  request: Request;
  /** A path is empty: a wrong argument for copyTree(), but an error of the system in fs.cp. */
  isEmpty: boolean;
}

/** Throws for wrong arguments. */
export function checkCall(
  source: PathLike,
  destination: PathLike,
  rules: Rules,
  filter: PathFilter | undefined,
): Call {
  const nameOf = (name: string): string => (rules.like === 'node' ? name : 'path');
  const [src, dest] = [named(source, nameOf('src')), named(destination, nameOf('dest'))];
  const request = foreignRequest(src === '' ? '.' : src, dest === '' ? '.' : dest, rules);
  const isEmpty = src === '' || dest === '';
  const base = request.workingDirectory.toString();
  return { src, dest, rules, filter, base, request, isEmpty };
}

/** Converts a path as Node does, with its errors for URLs. */
function named(path: PathLike, name: string): PathLike {
  if (Array.isArray(path)) {
    throw invalidType(name, 'of type string or an instance of Buffer or URL', path); // copyTree() takes several
  }
  if (isUrl(path)) return fileURLToPath(path);
  if (!isUint8Array(path)) return path;
  return path.length === 0 ? '' : Buffer.from(path);
}

type Convert = (error: CopyError, call: Call) => Error;

const pathsOf = ({ src, dest }: Call): [string, string] => [pathText(src), pathText(dest)];

function check(call: Call, looks: Looks): Found {
  if (!call.isEmpty) return checkEntries(call.request, call.rules, looks);
  const operation = call.src === '' ? 'lstat' : 'mkdir';
  throw errorOf({ errno: -constants.errno.ENOENT, operation }, ...pathsOf(call));
}

function withFilter({ request, src, dest }: Call, filter: PathFilter | undefined): Request {
  return filter ? { ...request, filter: filterBelow(filter, src, dest) } : request;
}

/**
 * Throws what `convert` makes of an error of the copy, or the same value that the filter threw. fs.cp asks the filter before it
 * looks at SRC, fs-extra afterwards.
 */
export async function copyByRules(call: Call, convert: Convert): Promise<void> {
  // Before the looks: a thousand calls at once would begin those of all.
  const turn = new CopyTurn(Boolean(call.filter));
  try {
    await turn.take();
    const filter = call.filter && wrapping(call.filter);
    const { rules } = call;
    const request = { ...call.request, turn };
    const asksFirst = rules.like === 'node';
    if (filter && asksFirst && !(await filter(...pathsOf(call)))) return;
    let looks = await lookAhead(request);
    const found = check({ ...call, request }, looks);
    if (filter && !asksFirst) {
      if (!(await filter(...pathsOf(call)))) return;
      looks = await lookAhead(request); // the filter may have changed files
    }
    checkBeginning(request, found, rules);
    await runCopy(withFilter({ ...call, request }, filter), new Report(), looks);
  } catch (error) {
    if (error instanceof CopyError && isInArchive(error, call)) return copyFromArchive(call);
    throw converted(error, call, convert);
  } finally {
    turn.end();
  }
}

/** Does the same as copyByRules(), on the calling thread. The filter must not return a promise. */
export function copyByRulesNow(call: Call, convert: Convert): void {
  try {
    const filter = call.filter && wrapping(synchronous(call.filter));
    const { request, rules } = call;
    const looks = new Looks();
    const asksFirst = rules.like === 'node';
    if (filter && asksFirst && !filter(...pathsOf(call))) return;
    const found = check(call, looks);
    if (filter && !asksFirst && !filter(...pathsOf(call))) return;
    checkBeginning(request, found, rules);
    runCopyNow(withFilter(call, filter));
  } catch (error) {
    if (error instanceof CopyError && isInArchive(error, call)) {
      copyFromArchiveNow(call);
      return;
    }
    throw converted(error, call, convert);
  }
}

/** A value that a filter threw. It may be the error of another copy, and is no error of this one. */
class Thrown {
  constructor(readonly value: unknown) {}
}

function wrapping(filter: PathFilter): PathFilter {
  const wrap = (thrown: unknown): never => {
    throw new Thrown(thrown);
  };
  return (src, dest) => {
    try {
      const answer = filter(src, dest);
      return isThenable(answer) ? answer.then(undefined, wrap) : answer;
    } catch (thrown) {
      return wrap(thrown);
    }
  };
}

function converted(error: unknown, call: Call, convert: Convert): unknown {
  if (error instanceof Thrown) return error.value;
  return error instanceof CopyError ? convert(error, call) : error;
}

/** Calls a callback of Node's form when a promise has settled, outside of the promise. */
export function callBack(copied: Promise<void>, done: (...args: unknown[]) => void): void {
  copied.then(
    () => setImmediate(done, null, undefined),
    (error: unknown) => setImmediate(done, error || falsy(error)),
  );
}

/** The error of util.callbackify(): without it a callback would take a filter's `throw undefined` for success. */
function falsy(reason: unknown): Error {
  const message = 'Promise was rejected with falsy value';
  return Object.assign(invalid(Error, 'ERR_FALSY_VALUE_REJECTION', message), { reason });
}
