/** What people type who come from cp, rsync and xcp. test/bin/habits.test.ts runs every row. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Habit {
  /** The command line of the other tool. */
  habit: string;
  /** The same with fastcp. */
  fastcp: string;
  /** What fastcp does. */
  does: string;
  /** The command of cp or rsync that does what fastcp does here, if it is not `habit`. */
  like?: string;
  /** Fields and top-level paths that differ from the outcome of `habit` or `like`, with commas; `does` says why. */
  except?: string;
  /** fastcp refuses it, and writes nothing: a part of its message. */
  refused?: string;
}

export interface Section {
  title: string;
  rows: readonly Habit[];
}

/** Reads scripts/docs/habits.txt, a row per line: `habit | fastcp | does`, then further fields by name. */
export function habitsIn(root: string): readonly Section[] {
  const text = readFileSync(join(root, 'scripts/docs/habits.txt'), 'utf8');
  return text.split('\n\n').map((section) => {
    const [title = '', ...lines] = section.trim().split('\n');
    const rows = lines.map((line): Habit => {
      const [habit = '', fastcp = '', does = '', ...more] = line.split(' | ');
      const named = more.map((field) => /^(\w+): (.*)/.exec(field)?.slice(1) ?? []);
      return { habit, fastcp, does, ...Object.fromEntries(named) };
    });
    return { title: title.replace('# ', ''), rows };
  });
}
