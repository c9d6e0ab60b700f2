/** Leaves behaviour tests out of a run on another system, with the reasons. scripts/numbers.mjs prints these. */
import { join, relative } from 'node:path';
import { beforeEach } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    leftOut?: string;
  }
}

/** A file of test/behaviour, and which of its tests by their whole names: all if there is no pattern. */
type Rule = [file: string, tests?: RegExp];
export type Reasons = Record<string, Rule[]>;

const root = join(import.meta.dirname, '../..');

const matches = ([file, tests]: Rule, path: string, name: string): boolean =>
  path === `test/behaviour/${file}.test.ts` && (tests?.test(name) ?? true);

export function leaveOut(reasons: Reasons): void {
  beforeEach(({ task, skip }) => {
    const names = [task.name];
    for (let suite = task.suite; suite; suite = suite.suite) names.unshift(suite.name);
    const [path, name] = [relative(root, task.file.filepath), names.join(' > ')];
    const entries = Object.entries(reasons);
    const reason = entries.find(([, rules]) =>
      rules.some((rule) => matches(rule, path, name)),
    )?.[0];
    if (!reason) return;
    task.meta.leftOut = reason;
    skip(reason);
  });
}
