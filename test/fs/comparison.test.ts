import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { run } from '../support/child.js';
import { size } from '../support/form.js';
import { workDirectory } from '../support/work.js';
import { newest, versions } from './support/nodes.js';

// Random calls by Node's fs.promises.cp, by fs-extra's copy, and by ours, on trees of symlinks in all forms. Every
// disagreement has one of the reasons that docs/fs.md and docs/fs-extra.md list. The first calls are the same in
// each run.

const work = workDirectory('comparison');
const CASES = size(60, 400, 4000);
const fsExtra = pathToFileURL(createRequire(import.meta.url).resolve('fs-extra')).href;

type Tree = Record<string, string>;

interface Outcome {
  /** `ok`, the code of the error, or its message if it has no code. */
  code: string;
  /** The entry that the error names. */
  failed?: string;
  /** Afterwards: DEST, SRC, and a directory beside them. */
  tree: Tree;
  src: Tree;
  outside: Tree;
}

interface Case {
  seed: number;
  state: 'none' | 'again' | 'changed' | 'other';
  options: {
    recursive: boolean;
    force: boolean;
    errorOnExist: boolean;
    dereference?: boolean;
    verbatimSymlinks?: boolean;
    filtered: boolean;
  };
  /** The path of SRC. */
  src: string;
  before: { src: Tree; dest: Tree };
  theirs: Outcome;
  asynchronous: Outcome;
  synchronous: Outcome;
  /** If both failed by different codes: theirs of the entry that ours named, and the other way round. */
  theirsAlone?: Outcome;
  oursAlone?: Outcome;
}

const isSymlink = (entry: string | undefined): boolean => entry?.startsWith('link ') ?? false;
const targetOf = (entry = ''): string => entry.slice('link '.length);

/** Returns whether DEST has the symlink that fs.cp would write, or one with the text of SRC's. */
function isSecondCopy({ options, before, src }: Case, path: string): boolean {
  const [from, to] = [before.src[path], before.dest[path]];
  if (!isSymlink(from) || !isSymlink(to)) return false;
  const above = join(src, path, '..');
  const resolved = resolve(above, targetOf(from));
  const written = options.verbatimSymlinks ? targetOf(from) : resolved;
  if (from === to) return true;
  return [targetOf(to), resolve(join(src, '../dest', path, '..'), targetOf(to))].some((one) =>
    [written, resolved].includes(one),
  );
}

const isBelow = (path: string, roots: string[]): boolean =>
  roots.some((root) => path === root || path.startsWith(`${root}/`));

/** Returns whether two outcomes differ only in the entries at and below `roots`. */
function differOnlyAt(roots: string[], theirs: Outcome, ours: Outcome): boolean {
  for (const { code, failed } of [theirs, ours]) {
    if (code !== 'ok' && !isBelow(failed ?? '', roots)) return false;
  }
  // A copy that fails leaves any part of a tree.
  if (theirs.code !== 'ok' || ours.code !== 'ok') return true;
  const others = (tree: Tree): Tree =>
    Object.fromEntries(Object.entries(tree).filter(([path]) => !isBelow(path, roots)));
  return same(others(withoutSlashes(theirs.tree)), others(ours.tree));
}

/**
 * Returns whether a symlink of SRC leads to DEST, into it, or to a directory above: by its text, and with `dereference`
 * also by other symlinks.
 */
function leadsToDest(one: Case, path = '', depth = 0): boolean {
  const { src, before } = one;
  const parts = path.split('/');
  const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  const symlink = above.find((at) => isSymlink(before.src[at]));
  if (symlink === undefined || depth > 40) return false;
  if (symlink !== path) {
    const through = relative(src, resolve(src, symlink, '..', targetOf(before.src[symlink])));
    return leadsToDest(one, `${through}${path.slice(symlink.length)}`, depth + 1);
  }
  const target = resolve(src, path, '..', targetOf(before.src[path]));
  const dest = join(src, '../dest');
  const leads = isBelow(target, [dest]) || isBelow(dest, [target]);
  return leads || (!!one.options.dereference && leadsToDest(one, relative(src, target), depth + 1));
}

/** Entries that are a symlink both in SRC and in DEST. */
const ontoSymlinks = ({ src, dest }: Case['before']): string[] =>
  Object.keys(src).filter((path) => isSymlink(src[path]) && isSymlink(dest[path]));

/** Why two outcomes of a copy, or of one entry, differ. */
type ReasonOf = (one: Case, theirs: Outcome, ours: Outcome) => string | undefined;

/**
 * Returns why our outcome is not theirs. Either may report any of a tree's errors first. Both must give the same error for
 * each reported entry, or have a reason.
 */
function reasonFor(one: Case, reasonOf: ReasonOf): string | undefined {
  const { theirs, asynchronous: ours, theirsAlone, oursAlone } = one;
  if (!theirsAlone || !oursAlone) return reasonOf(one, theirs, ours);
  // Then the target of the symlink depends on what else was copied before.
  if (theirs.failed === ours.failed && theirsAlone.code === oursAlone.code) return 'Order';
  const first = theirsAlone.code === ours.code ? 'Order' : reasonOf(one, theirsAlone, ours);
  const second = theirs.code === oursAlone.code ? 'Order' : reasonOf(one, theirs, oursAlone);
  return first === 'Order' ? second : second && first;
}

/** Returns a heading of docs/fs.md. */
function reasonOfNode(one: Case, theirs: Outcome, ours: Outcome): string | undefined {
  const { options, before } = one;
  if (theirs.code === 'ok' && ours.code === 'ok' && same(withoutSlashes(theirs.tree), ours.tree)) {
    return 'Slashes at the end';
  }
  const failed = before.dest[ours.failed ?? ''];
  if (options.errorOnExist && ours.code === 'ERR_FS_CP_EEXIST' && failed?.startsWith('directory')) {
    return 'errorOnExist';
  }
  if (options.dereference) {
    if (ours.code === 'ELOOP' && theirs.code !== 'ok') return 'Loops';
    if (ours.code === 'ERR_FS_CP_EINVAL' && theirs.code !== 'ok') {
      if (theirs.code === 'ENAMETOOLONG' || leadsToDest(one, ours.failed)) return 'Loops';
    }
    if (dependsOnOthers(one, theirs, ours)) return 'Order';
    const symlinks = Object.keys(before.dest).filter((path) => isSymlink(before.dest[path]));
    // Node writes through them.
    const targets = symlinks.map((path) => join(path, '..', targetOf(before.dest[path])));
    return differOnlyAt([...symlinks, ...targets], theirs, ours)
      ? 'Symlinks below DEST'
      : undefined;
  }
  if (theirs.code !== 'ok' && isSecondCopy(one, theirs.failed ?? '')) return 'A second copy';
  if (!options.force && differOnlyAt(ontoSymlinks(before), theirs, ours))
    return 'Symlinks and force';
  return dependsOnOthers(one, theirs, ours) ? 'Order' : undefined;
}

/** Also returns the reason that only versions before the newest have: they take any target for a directory. */
function reasonOfOlderNode(one: Case, theirs: Outcome, ours: Outcome): string | undefined {
  const { before, src } = one;
  const path = theirs.failed ?? '';
  const target = relative(src, resolve(src, path, '..', targetOf(before.src[path])));
  const isRefused = ['ERR_FS_CP_EINVAL', 'ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY'].includes(theirs.code);
  const isFile = before.src[target]?.startsWith('file ') ?? false;
  const isOlder = isRefused && ontoSymlinks(before).includes(path) && isFile;
  return reasonOfNode(one, theirs, ours) ?? (isOlder ? 'Targets that are files' : undefined);
}

/** Returns whether a symlink that failed leads to DEST: then its error depends on what was copied before. */
function dependsOnOthers(one: Case, theirs: Outcome, ours: Outcome): boolean {
  const bothFailed = theirs.code !== 'ok' && ours.code !== 'ok';
  return bothFailed && [theirs, ours].some(({ failed }) => leadsToDest(one, failed));
}

/** Returns what docs/fs-extra.md has a row for. */
function reasonOfFsExtra(one: Case, theirs: Outcome, ours: Outcome): string | undefined {
  if (one.options.force) return undefined;
  const symlinks = ontoSymlinks(one.before);
  return differOnlyAt(symlinks, theirs, ours) ? 'Symlinks and overwrite' : undefined;
}

const disagree = (theirs: Outcome, ours: Outcome): boolean =>
  theirs.code !== ours.code || (theirs.code === 'ok' && !same(theirs.tree, ours.tree));

const withoutSlashes = (tree: Tree): Tree =>
  Object.fromEntries(Object.entries(tree).map(([path, what]) => [path, what.replace(/\/$/, '')]));

const same = (a: Tree, b: Tree): boolean =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** What DEST is to hold after a copy that followed no symlinks. */
function expected({ options, src: root, before: { src, dest } }: Case): Tree {
  const tree = { ...dest };
  for (const [path, entry] of Object.entries(src)) {
    const parts = path.split('/');
    if (options.filtered && parts.includes('c')) continue;
    const taken = dest[path] !== undefined;
    if (taken && (entry.startsWith('directory ') || !options.force)) continue;
    const from = resolve(root, ...parts.slice(0, -1));
    const absolute = isSymlink(entry) && !options.verbatimSymlinks;
    tree[path] = absolute ? `link ${resolve(from, targetOf(entry))}` : entry;
  }
  return tree;
}

async function runCases(
  node: string,
  directory: string,
  file: string,
  theirs: string,
): Promise<Case[]> {
  const script = new URL('support/random-cases.mjs', import.meta.url).pathname;
  const ours = new URL(`../../dist/${file}`, import.meta.url).href;
  const cases: Case[] = [];
  // Not in one process: where fs-extra fails, it leaves directories open.
  for (let first = 0; first < CASES; first += 20) {
    const seeds = [first, Math.min(first + 20, CASES)].map(String);
    const { status, stdout, stderr } = await run([
      ...[node, '--no-warnings', script, directory, ours, theirs, ...seeds],
    ]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    cases.push(...JSON.parse(stdout));
  }
  return cases;
}

/** A case without its trees: those of a loop are very long. */
function inShort({
  seed,
  state,
  options,
  theirs,
  asynchronous,
  theirsAlone,
  oursAlone,
}: Case): string {
  const shown = (one?: Outcome): string => (one ? `${one.code} ${one.failed?.slice(0, 50)}` : '');
  const outcomes = [theirs, asynchronous, theirsAlone, oursAlone].map(shown).join('\n');
  return `seed ${seed}, ${state}, ${JSON.stringify(options)}\n${outcomes}\n`;
}

/** Counts the reasons of all disagreements. */
function count(cases: Case[], reasonOf: ReasonOf): Record<string, number> {
  const reasons: Record<string, number> = {};
  for (const one of cases) {
    if (!disagree(one.theirs, one.asynchronous)) continue;
    const reason = reasonFor(one, reasonOf);
    expect.soft(reason, inShort(one)).toBeDefined();
    reasons[reason ?? ''] = (reasons[reason ?? ''] ?? 0) + 1;
  }
  return reasons;
}

function expectSameForms(cases: Case[]): void {
  for (const { seed, asynchronous, synchronous } of cases) {
    expect(synchronous.code === 'ok', `seed ${seed}`).toBe(asynchronous.code === 'ok');
    if (synchronous.code === 'ok')
      expect(synchronous.tree, `seed ${seed}`).toEqual(asynchronous.tree);
  }
}

function expectOutsideUntouched(cases: Case[]): void {
  for (const { seed, before, asynchronous, synchronous } of cases) {
    for (const { src, outside } of [asynchronous, synchronous]) {
      expect(outside, `seed ${seed}`).toEqual(untouched);
      expect(src, `seed ${seed}`).toEqual(before.src);
    }
  }
}

const untouched = { '': 'directory 755', file: 'file 644 outside' };

/** What the newest Node did, by seed: it comes first. Where versions differ, it decides. */
let newestCases = new Map<number, Case>();

describe.each(versions.toReversed())('%s', (node) => {
  const directory = join(work, `cases ${versions.indexOf(node)}`);
  let cases: Case[];
  beforeAll(async () => {
    cases = await runCases(node, directory, 'fs.js', 'node:fs');
    if (node === newest) newestCases = new Map(cases.map((one) => [one.seed, one]));
  }, 600_000);

  test('every disagreement has a reason', () => {
    const older = cases.filter(({ seed }) => {
      const now = newestCases.get(seed);
      return node === newest || !now || disagree(now.theirs, now.asynchronous);
    });
    const reasons = count(older, node === newest ? reasonOfNode : reasonOfOlderNode);
    console.log(`${node}: ${CASES} calls, disagreements:`, reasons);
    expect(cases.length).toBe(CASES);
    if (node === newest) expect(reasons).not.toHaveProperty('errorOnExist');
  });

  test('ours ends in what SRC holds, the targets of symlinks exact', () => {
    const done = cases.filter(({ asynchronous: { code }, options: { dereference } }) => {
      return code === 'ok' && !dereference;
    });
    expect(done.length).toBeGreaterThan(CASES / 4);
    for (const one of done) {
      expect(one.asynchronous.tree, `seed ${one.seed}`).toEqual(expected(one));
    }
  });

  test('a second copy of one tree of symlinks succeeds', () => {
    const again = cases.filter(({ state, options: { force, recursive, dereference } }) => {
      return state === 'again' && force && recursive && !dereference;
    });
    expect(again.length).toBeGreaterThan(CASES / 10);
    for (const { seed, asynchronous } of again)
      expect(asynchronous.code, `seed ${seed}`).toBe('ok');
  });

  test('both forms do the same', () => expectSameForms(cases));

  test('nothing outside DEST is touched', () => expectOutsideUntouched(cases));
});

describe('fs-extra', () => {
  const directory = join(work, 'fs-extra');
  let cases: Case[];
  beforeAll(async () => {
    cases = await runCases(process.execPath, directory, 'fs-extra.js', fsExtra);
  }, 600_000);

  test('every disagreement has a reason', () => {
    const reasons = count(cases, reasonOfFsExtra);
    console.log(`fs-extra: ${CASES} calls, disagreements:`, reasons);
    expect(cases.length).toBe(CASES);
  });

  test('many fail alike, with the same message', () => {
    const alike = cases.filter(({ theirs, asynchronous }) => {
      return theirs.code !== 'ok' && theirs.code === asynchronous.code;
    });
    expect(alike.length).toBeGreaterThan(CASES / 20);
    expect(alike.some(({ theirs }) => theirs.code.startsWith('Cannot overwrite'))).toBe(true);
  });

  test('both forms do the same', () => expectSameForms(cases));

  test('nothing outside DEST is touched', () => expectOutsideUntouched(cases));
});
