import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { run } from '../support/child.js';
import { workDirectory } from '../support/work.js';
import { versions } from './support/nodes.js';

// Random calls by Node's fs.promises.cp, by fs-extra's copy, and by ours, on trees of symlinks in all forms. Every
// disagreement has one of the reasons that docs/fs.md and docs/fs-extra.md list. FASTCP_CASES asks for more calls,
// FASTCP_FIRST for others.

const work = workDirectory('comparison');
const CASES = Number(process.env.FASTCP_CASES ?? 400);
const FIRST = Number(process.env.FASTCP_FIRST ?? 0);
const fsExtra = pathToFileURL(createRequire(import.meta.url).resolve('fs-extra')).href;

type Tree = Record<string, string>;

interface Outcome {
  /** `ok`, the code of the error, or its message if it has no code. */
  code: string;
  /** The entry that the error names. */
  failed?: string;
  tree: Tree;
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
  before: { src: Tree; dest: Tree };
  theirs: Outcome;
  asynchronous: Outcome;
  synchronous: Outcome;
}

const isSymlink = (entry: string | undefined): boolean => entry?.startsWith('link ') ?? false;
const targetOf = (entry = ''): string => entry.slice('link '.length);

/** Returns whether both have the symlink that fs.cp would write. */
function isSecondCopy({ options, before }: Case, path: string, src: string): boolean {
  const [from, to] = [before.src[path], before.dest[path]];
  if (!isSymlink(from) || !isSymlink(to)) return false;
  const above = join(src, path, '..');
  const resolved = resolve(above, targetOf(from));
  const written = options.verbatimSymlinks ? targetOf(from) : resolved;
  return [targetOf(to), resolve(join(src, '../dest', path, '..'), targetOf(to))].some((one) =>
    [written, resolved].includes(one),
  );
}

/** Returns why our outcome is not Node's: a heading of docs/fs.md. Undefined if there is no reason. */
function reasonFor(one: Case, ours: Outcome, directory: string): string | undefined {
  const { options, before, theirs } = one;
  if (theirs.code === 'ok' && ours.code === 'ok' && same(withoutSlashes(theirs.tree), ours.tree)) {
    return 'Slashes at the end';
  }
  const onto = Object.keys(before.src).filter(
    (path) => isSymlink(before.src[path]) && isSymlink(before.dest[path]),
  );
  if (options.dereference) {
    if (ours.code === 'ELOOP' && theirs.code !== 'ok') return 'Loops';
    if (theirs.code !== 'ok' && ours.code !== 'ok') return 'Order';
    return Object.values(before.dest).some(isSymlink) ? 'Symlinks in DEST' : undefined;
  }
  const failed = theirs.failed ?? '';
  if (theirs.code !== 'ok' && isSecondCopy(one, failed, join(directory, 'src'))) {
    return 'A second copy';
  }
  if (onto.length > 0 && !options.force && ['ok', 'ERR_FS_CP_EEXIST'].includes(ours.code)) {
    if (theirs.code === 'ok' || onto.includes(failed)) return 'Symlinks and force';
  }
  return theirs.code !== 'ok' && ours.code !== 'ok' ? 'Order' : undefined;
}

const disagree = (theirs: Outcome, ours: Outcome): boolean =>
  theirs.code !== ours.code || (theirs.code === 'ok' && !same(theirs.tree, ours.tree));

const withoutSlashes = (tree: Tree): Tree =>
  Object.fromEntries(Object.entries(tree).map(([path, what]) => [path, what.replace(/\/$/, '')]));

const same = (a: Tree, b: Tree): boolean =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** What DEST is to hold after a copy that followed no symlinks. */
function expected({ options, before: { src, dest } }: Case, directory: string): Tree {
  const tree = { ...dest };
  for (const [path, entry] of Object.entries(src)) {
    const parts = path.split('/');
    if (options.filtered && parts.includes('c')) continue;
    const taken = dest[path] !== undefined;
    if (taken && (entry.startsWith('directory ') || !options.force)) continue;
    const from = resolve(directory, 'src', ...parts.slice(0, -1));
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
  for (let first = FIRST; first < FIRST + CASES; first += 50) {
    const seeds = [first, Math.min(first + 50, FIRST + CASES)].map(String);
    const { status, stdout, stderr } = await run([
      ...[node, '--no-warnings', script, directory, ours, theirs, ...seeds],
    ]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    cases.push(...JSON.parse(stdout));
  }
  return cases;
}

/** Counts the reasons of all disagreements. */
function count(cases: Case[], reasonOf: (one: Case) => string | undefined): Record<string, number> {
  const reasons: Record<string, number> = {};
  for (const one of cases) {
    if (!disagree(one.theirs, one.asynchronous)) continue;
    const reason = reasonOf(one);
    expect(reason, JSON.stringify(one, null, 1)).toBeDefined();
    reasons[reason ?? ''] = (reasons[reason ?? ''] ?? 0) + 1;
  }
  return reasons;
}

const untouched = { '': 'directory 755', file: 'file 644 outside' };

describe.each(versions)('%s', (node) => {
  const directory = join(work, `cases ${versions.indexOf(node)}`);
  let cases: Case[];
  beforeAll(async () => {
    cases = await runCases(node, directory, 'fs.js', 'node:fs');
  }, 600_000);

  test('every disagreement has a reason', () => {
    const reasons = count(cases, (one) => reasonFor(one, one.asynchronous, directory));
    console.log(`${node}: ${CASES} calls, disagreements:`, reasons);
    expect(cases.length).toBe(CASES);
  });

  test('ours ends in what SRC holds, the targets of symlinks exact', () => {
    const done = cases.filter(({ asynchronous: { code }, options: { dereference } }) => {
      return code === 'ok' && !dereference;
    });
    expect(done.length).toBeGreaterThan(CASES / 4);
    for (const one of done) {
      expect(one.asynchronous.tree, `seed ${one.seed}`).toEqual(expected(one, directory));
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

  test('both forms do the same', () => {
    for (const { seed, asynchronous, synchronous } of cases) {
      expect(synchronous.code === 'ok', `seed ${seed}`).toBe(asynchronous.code === 'ok');
      if (synchronous.code === 'ok') expect(synchronous.tree).toEqual(asynchronous.tree);
    }
  });

  test('nothing outside DEST is touched', () => {
    for (const { seed, asynchronous, synchronous } of cases) {
      expect(asynchronous.outside, `seed ${seed}`).toEqual(untouched);
      expect(synchronous.outside, `seed ${seed}`).toEqual(untouched);
    }
  });
});

describe('fs-extra', () => {
  const directory = join(work, 'fs-extra');
  let cases: Case[];
  beforeAll(async () => {
    cases = await runCases(process.execPath, directory, 'fs-extra.js', fsExtra);
  }, 600_000);

  test('every disagreement has a reason', () => {
    const reasons = count(cases, ({ options, before, theirs, asynchronous: ours }) => {
      const onto = Object.keys(before.src).some(
        (path) => isSymlink(before.src[path]) && isSymlink(before.dest[path]),
      );
      const kept = ours.code === 'ok' || ours.code.endsWith('already exists');
      if (onto && !options.force && kept) return 'Symlinks and overwrite';
      return theirs.code !== 'ok' && ours.code !== 'ok' ? 'Order' : undefined;
    });
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

  test('nothing outside DEST is touched', () => {
    for (const { seed, asynchronous } of cases) {
      expect(asynchronous.outside, `seed ${seed}`).toEqual(untouched);
    }
  });
});
