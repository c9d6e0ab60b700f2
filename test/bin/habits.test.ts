import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseArgs } from '../../bin/args.js';
import { knownHabits } from '../../bin/habits.js';
import { type Habit, habitsIn } from '../../scripts/docs/habits.js';
import { differences } from '../support/compare.js';
import { isRoot, needTool, removeTree, workDirectory } from '../support/work.js';
import { environment, FASTCP } from './support/fastcp.js';
import { differing, makeHabitat, type Outcome, outcomeAt } from './support/habits.js';

// Every row of docs/coming-from.md, against the real cp and rsync where they can do it.

const work = workDirectory('habits');
const habitat = makeHabitat(join(work, 'habitat'));
const place = join(work, 'place');
const reference = join(work, 'reference');
mkdirSync(join(work, 'bin'));
symlinkSync(FASTCP, join(work, 'bin/fastcp'));

interface Ended {
  status: number | null;
  stderr: string;
  outcome: Outcome;
}

/** In a fresh copy of the tree, always at the same path: symlinks and messages may be absolute. */
function shell(line: string): Ended {
  removeTree(place);
  execFileSync('cp', ['-a', habitat, place]);
  const { status, stderr } = spawnSync('sh', ['-c', `umask 022; ${line}`], {
    cwd: place,
    encoding: 'utf8',
    env: {
      ...environment(),
      LC_ALL: 'C',
      PATH: `${join(work, 'bin')}${delimiter}${process.env.PATH}`,
    },
  });
  return { status, stderr, outcome: outcomeAt(place) };
}

/** What differences() does not look at. */
const unseen = ['owner', 'mtime', 'hardLinkTo'];

const toolOf = (line: string): string => (/\brsync\b/.test(line) ? 'rsync' : 'cp');

/** With cp or rsync; the tree is kept for other ways to compare. */
function expected({ habit, like }: Habit): Ended {
  const ended = shell(like ?? habit);
  removeTree(reference);
  renameSync(place, reference);
  return ended;
}

for (const { title, rows } of habitsIn(join(import.meta.dirname, '../..'))) {
  describe(title, () => {
    for (const row of rows) {
      test(`${row.habit} | ${row.fastcp}`, (context) => {
        if (row.refused === undefined) needTool(context, toolOf(row.like ?? row.habit));
        check(row);
      });
    }
  });
}

test.each(knownHabits)('%s: what to use instead', (option) => {
  expect(() => parseArgs([`${option}=x`, 'a', 'b'])).toThrow(
    /^(unknown option '-[^'=]+'|'--[a-z-]+=x'): .{6}/,
  );
});

function check(row: Habit): void {
  const except = row.except?.split(', ') ?? [];
  const before = outcomeAt(habitat);
  if (row.refused !== undefined) {
    const { status, stderr, outcome } = shell(row.fastcp);
    expect(stderr).toContain(row.refused);
    expect(status).not.toBe(0);
    expect(differing(before, outcome)).toEqual([]);
    return;
  }
  const wanted = expected(row);
  const { status, stderr, outcome } = shell(row.fastcp);
  expect({ failed: status !== 0, stderr }).toMatchObject({ failed: wanted.status !== 0 });
  expect(differing(wanted.outcome, outcome)).toEqual(
    // Only root's copies can have other owners.
    except.filter((field) => isRoot || field !== 'owner'),
  );
  // By diff and rsync as well, which know no owners, mtimes and hard links.
  if (!except.some((what) => !unseen.includes(what))) {
    expect(differences(reference, place)).toEqual([]);
  }
}
