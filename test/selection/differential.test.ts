/**
 * The selection against the real git, on random trees with random rule files. Prints its seed;
 * FASTCP_SEED makes the same again. A case is one tree with its rule
 * files; many of them lie side by side in one repository, so that git is asked once about all.
 */
import { lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { seed, size } from '../support/form.js';
import {
  filesOfGit,
  git,
  gitEnvironment,
  makeRepository,
  rulesOfGit,
  track,
} from './support/git.js';
import { type Case, inBytes, Random, randomCase, writeCase } from './support/random.js';
import { walk } from './support/walk.js';

const cases = size(500, 10_000);
const perRepository = 100;

let room = '';
beforeAll(() => {
  room = mkdtempSync(join(tmpdir(), 'fastcp-differential-'));
  for (const [name, value] of Object.entries(gitEnvironment)) vi.stubEnv(name, value);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(room, { recursive: true, force: true });
});

interface Setting {
  ignoreCase: boolean;
  /** .git/info/exclude */
  exclude: string;
}

let made = 0;

/** The first difference of each case, by its index. */
async function compare(
  all: readonly Case[],
  { ignoreCase, exclude }: Setting,
): Promise<Map<number, string>> {
  made += 1;
  const root = makeRepository(join(room, `${made}`), { ignoreCase });
  writeFileSync(join(root, '.git/info/exclude'), exclude);
  const tracked: string[] = [];
  for (const [index, one] of all.entries()) {
    writeCase(join(root, `${index}`), one);
    for (const path of one.tracked) tracked.push(`${index}/${path}`);
  }
  track(root, tracked);

  const differences = new Map<number, string>();
  const differ = (path: string, ours: unknown, gits: unknown): void => {
    const index = Number(path.split('/', 1)[0]);
    const what = `${JSON.stringify(path)}: ours ${JSON.stringify(ours)}, git's ${JSON.stringify(gits)}`;
    if (!differences.has(index)) differences.set(index, what);
  };
  const compareSets = (what: string, ours: readonly string[], gits: readonly string[]): void => {
    const [our, git] = [new Set(ours), new Set(gits)];
    for (const path of our) if (!git.has(path)) differ(path, `${what}: in`, 'out');
    for (const path of git) if (!our.has(path)) differ(path, `${what}: out`, 'in');
  };
  const isFile = (path: string): boolean => !path.endsWith('/');

  const kept = await walk(root, { gitignore: true });
  // Without tracked files that are not there, or have a directory in their place.
  const there = filesOfGit(root).filter((path) => {
    const at = Buffer.concat([Buffer.from(`${root}/`), inBytes(path)]);
    return lstatSync(at, { throwIfNoEntry: false })?.isDirectory() === false;
  });
  compareSets('gitignore', kept.taken.filter(isFile), there);

  const ignored = await walk(root, { onlyIgnored: true });
  const args = ['ls-files', '-o', '-i', '--exclude-standard', '-z'];
  compareSets('onlyIgnored', ignored.taken.filter(isFile), git(root, args));

  const asked = [...kept.asked.keys()].filter((path) => path !== '.git');
  const rules = rulesOfGit(root, asked);
  for (const path of asked) {
    const reason = kept.left.get(path);
    const rule = rules.get(path);
    if (reason !== undefined) {
      const ours = reason.replace(`${root}/`, '');
      if (ours !== shownByUs(rule)) differ(path, ours, shownByUs(rule));
    } else if (
      rule !== undefined &&
      !/^.*:\d+:!/s.test(rule) &&
      !heldByTracked(path, kept.asked.get(path) === 'directory', tracked, ignoreCase)
    ) {
      differ(path, 'taken', rule);
    }
  }
  rmSync(root, { recursive: true });
  return differences;
}

/** Git prints bytes; we show UTF-8 where it is such. */
function shownByUs(rule: string | undefined): string | undefined {
  if (rule === undefined) return undefined;
  const parts = /^(.*?):(\d+):(.*)$/s.exec(rule) as RegExpExecArray;
  const decode = (part: string | undefined): string =>
    (part ?? '')
      .split('/')
      .map((name) => {
        const text = inBytes(name).toString();
        return text.includes('\ufffd') ? name : text;
      })
      .join('/');
  const whole = inBytes(parts[3] ?? '').toString();
  return `${decode(parts[1])}:${parts[2]}:${whole.includes('\ufffd') ? parts[3] : whole}`;
}

function heldByTracked(
  path: string,
  isDirectory: boolean,
  tracked: readonly string[],
  ignoreCase: boolean,
): boolean {
  const fold = (text: string): string =>
    ignoreCase ? text.replace(/[A-Z]/g, (c) => c.toLowerCase()) : text;
  const wanted = fold(path);
  return tracked.some((one) =>
    isDirectory ? fold(one).startsWith(`${wanted}/`) : fold(one) === wanted,
  );
}

/** Leaves out what is not needed for a difference. */
async function shrink(one: Case, setting: Setting): Promise<Case> {
  let smallest = one;
  for (let again = true; again; ) {
    again = false;
    for (const smaller of smallerCases(smallest)) {
      if ((await compare([smaller], setting)).size === 0) continue;
      smallest = smaller;
      again = true;
      break;
    }
  }
  return smallest;
}

function* smallerCases(one: Case): Generator<Case> {
  const copy = (): Case => ({
    files: new Map(one.files),
    links: new Set(one.links),
    emptyDirectories: new Set(one.emptyDirectories),
    tracked: new Set(one.tracked),
  });
  for (const part of ['files', 'links', 'emptyDirectories', 'tracked'] as const) {
    for (const path of one[part].keys()) {
      const smaller = copy();
      smaller[part].delete(path);
      if (part === 'files') smaller.tracked.delete(path);
      yield smaller;
    }
  }
  for (const [path, content] of one.files) {
    const lines = content.split('\n');
    if (lines.length < 2) continue;
    for (const index of lines.keys()) {
      const smaller = copy();
      smaller.files.set(path, lines.toSpliced(index, 1).join('\n'));
      yield smaller;
    }
  }
}

test(`${cases} random trees with rules, seed ${seed}`, { timeout: 0 }, async () => {
  const random = new Random(seed);
  for (let done = 0; done < cases; done += perRepository) {
    const setting: Setting = {
      ignoreCase: random.chance(30),
      exclude: random.chance(30) ? 'abc\n*.o\n!y.o\n/1/a\n' : '',
    };
    const all = Array.from({ length: Math.min(perRepository, cases - done) }, () =>
      randomCase(random, setting),
    );
    const differences = await compare(all, setting);
    for (const [index, difference] of differences) {
      const shrunk = await shrink(all[index] as Case, setting);
      expect.fail(
        `seed ${seed}, case ${done + index}: ${difference}\nshrunk: ${[...(await compare([shrunk], setting)).values()]}\n${JSON.stringify(
          {
            ...setting,
            files: [...shrunk.files],
            links: [...shrunk.links],
            empty: [...shrunk.emptyDirectories],
            tracked: [...shrunk.tracked],
          },
        )}`,
      );
    }
  }
});
