import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { shownAs } from './calls.js';
import type { Place, Ran, Report } from './case.js';
import { isAtomic, type Mode } from './modes.js';
import { type Known, readSnapshot, type Snapshot } from './snapshot.js';

/** What a warning takes back. */
const losses: Record<string, (keyof Known)[]> = {
  // The group's bits are an access list's mask.
  MODE_NOT_PRESERVED: ['mode', 'attributes'],
  TIMESTAMPS_NOT_PRESERVED: ['modified'],
  OWNERSHIP_NOT_PRESERVED: ['owner', 'mode'],
  XATTRS_NOT_PRESERVED: ['attributes'],
  ACLS_NOT_PRESERVED: ['attributes', 'mode'],
  HARD_LINKS_NOT_PRESERVED: ['twin'],
};

/** Where a fault says something that the file system then does not keep to, the tree cannot be right. */
function deceptions({ call, fault, mode }: Case): (keyof Known)[] {
  const none = ['ENODATA', 'EOPNOTSUPP', 'ENOSYS'].includes(fault);
  if (none && call.endsWith('xattr')) return ['attributes', 'mode'];
  // A clock that is not ours proves nothing, and directories are given more than without the fault.
  return call === 'fstatfs64' && mode.args?.includes('--mirror') ? ['attributes', 'mode'] : [];
}

export type Outcome = 'goes on' | 'warning' | 'error';

export interface Case {
  mode: Mode;
  call: string;
  fault: string;
  /** What the tree is without a fault, and what it was before. */
  expected: Snapshot;
  before: Snapshot;
}

/** Everything that is wrong with what a case did, and what came of it. */
export function judge(
  given: Case,
  ran: Ran,
  { src }: Place,
  dest: string,
): { wrong: string[]; outcome: Outcome } {
  const of = (wanted: string): Report[] => ran.events.filter(({ type }) => type === wanted);
  const [errors, warnings, entries] = [of('error'), of('warning'), of('entry')];
  const wrong = [...wrongEnd(ran, errors), ...errors.flatMap((error) => wrongError(given, error))];
  const tree = compareTree(given, errors, warnings, src, dest);
  wrong.push(...tree.strangers(), ...tree.missing(), ...tree.lies(entries));
  const outcome = errors.length > 0 ? 'error' : warnings.length > 0 ? 'warning' : 'goes on';
  return { wrong, outcome };
}

function wrongEnd(ran: Ran, errors: Report[]): string[] {
  const wrong: string[] = [];
  if (ran.status === null) wrong.push('it hung, or was killed');
  if (ran.status !== (errors.length > 0 ? 1 : 0)) {
    wrong.push(`exit code ${ran.status} with ${errors.length} errors ${ran.stderr}`);
  }
  if (ran.open.length > 0) wrong.push(`left open: ${ran.open}`);
  if (ran.threads > 0) wrong.push(`${ran.threads} threads are left`);
  if (ran.events.at(-1)?.type !== 'result') wrong.push('no result');
  return wrong;
}

function compareTree(given: Case, errors: Report[], warnings: Report[], src: string, dest: string) {
  const { expected, before, mode } = given;
  const isThere = lstatSync(dest, { throwIfNoEntry: false }) !== undefined;
  const after: Snapshot = isThere ? readSnapshot(dest, mode) : new Map();
  const relative = (path = ''): string | undefined =>
    [src, dest].flatMap((root) =>
      path === root ? [''] : path.startsWith(`${root}/`) ? [path.slice(root.length + 1)] : [],
    )[0];
  const failed = new Set(errors.flatMap(({ path, dest }) => [relative(path), relative(dest)]));
  const excused = new Set([
    ...warnings.flatMap(({ code = '' }) => losses[code] ?? []),
    ...deceptions(given),
  ]);
  // The first error ends it, or a disk that is full.
  const ended =
    errors.length > 0 &&
    (mode.args?.includes('--fail-fast') === true ||
      errors.some(({ code = '' }) => ['ENOSPC', 'EDQUOT', 'EROFS'].includes(code)));

  /** An error names it, or a directory that it is in. */
  const isExcused = (name: string): boolean => {
    for (let at = name.replace(/\.~\d+~$/, ''); ; at = at.includes('/') ? dirname(at) : '') {
      if (failed.has(at)) return true;
      if (at === '') return false;
    }
  };
  // One name of a file that could not be made leaves the others among themselves.
  const parted = new Set(
    [...expected].flatMap(([name, { twin }]) => (isExcused(name) ? [twin] : [])),
  );
  const differs = (name: string): string[] => {
    const [is, as] = [after.get(name), expected.get(name)];
    if (is === undefined || as === undefined) return is === as ? [] : [is ? 'there' : 'gone'];
    const lenient = (field: keyof Known): boolean =>
      excused.has(field) || (field === 'twin' && (ended || parted.has(as.twin)));
    return (Object.keys(is) as (keyof Known)[]).filter(
      (field) => is[field] !== as[field] && !lenient(field),
    );
  };

  if (isAtomic(mode) && errors.length > 0) {
    const differs = namesThatDiffer(before, after);
    return {
      strangers: () => differs.map((name) => `changed by a copy that failed: ${name}`),
      missing: () => [],
      lies: () => [],
    };
  }
  return {
    /** Whatever stands there has to be the old or the new, and whole. */
    strangers(): string[] {
      const isContentOf = (name: string, as: Known | undefined): boolean =>
        as !== undefined &&
        (['kind', 'what', 'size'] as const).every(
          (field) => as[field] === after.get(name)?.[field],
        );
      return [...after.keys()]
        .filter(
          (name) => !isContentOf(name, expected.get(name)) && !isContentOf(name, before.get(name)),
        )
        .map((name) => `neither old nor new: ${name}`);
    },

    /** What it did not fail at has to be right. */
    missing(): string[] {
      if (ended) return [];
      return [...new Set([...after.keys(), ...expected.keys()])].flatMap((name) => {
        const fields = isExcused(name) ? [] : differs(name);
        // A directory in which something failed was changed by that, or stays.
        const left = hasBelow(failed, name)
          ? fields.filter(
              (field) => field !== 'modified' && !(field === 'there' && before.has(name)),
            )
          : fields;
        return left.length > 0 ? [`${name}: wrong ${left}`] : [];
      });
    },

    /** What it said it did has to be done. */
    lies(entries: Report[]): string[] {
      return entries.flatMap((event) => {
        const name = relative(event.dest);
        if (name === undefined || failed.has(name)) return [];
        // For SRC's entry of that name there may be no room.
        if (event.action === 'delete') {
          return after.has(name) && !expected.has(name) ? [`said to be deleted: ${name}`] : [];
        }
        // Directories are given their times last.
        const fields = differs(name).filter(
          (field) => after.get(name)?.kind !== 'directory' || (field !== 'modified' && !ended),
        );
        return fields.length > 0 ? [`said to be done, but wrong ${fields}: ${name}`] : [];
      });
    },
  };
}

/** Names of which one tree has another entry than the other, or none. */
function namesThatDiffer(one: Snapshot, other: Snapshot): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter(
    (name) => !isDeepStrictEqual(one.get(name), other.get(name)),
  );
}

function hasBelow(names: Set<string | undefined>, directory: string): boolean {
  return [...names].some(
    (name) =>
      name !== undefined &&
      name !== directory &&
      (directory === '' || name.startsWith(`${directory}/`)),
  );
}

/** An error names call, path and code. */
function wrongError({ call, fault }: Case, error: Report): string[] {
  const { syscall = '', path = '', message = '' } = error;
  const wrong: string[] = [];
  // libuv's name for the same number.
  const code = error.code === 'ENOTSUP' ? 'EOPNOTSUPP' : (error.code ?? '');
  const shown = shownAs[call] ?? [call];
  const own = code.startsWith('ERR_') && syscall === 'cp';
  // What was kept keeps its directory, too.
  const follows = code === 'ENOTEMPTY' || code === 'EEXIST' || own;
  const isShort = fault === 'short' || fault === 'zero';
  if (code !== fault && !follows && !isShort) wrong.push(`code ${code}: ${message}`);
  if (!shown.includes(syscall) && !follows)
    wrong.push(`syscall ${syscall} for ${call}: ${message}`);
  if (path === '' || !message.includes(path) || !message.includes(error.code ?? ''))
    wrong.push(`message ${message}`);
  return wrong;
}
