/** Leaves behaviour tests out of a run on another system, with the reasons. scripts/numbers.mjs prints these. */
import { join, relative } from 'node:path';
import { beforeAll, beforeEach, type RunnerTestCase, type RunnerTestSuite } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    leftOut?: string;
  }
}

/**
 * A file of test/behaviour, or `directory/file`; which of its tests by their whole names: all if there is no pattern.
 */
type Rule = [file: string, tests?: RegExp];
export type Reasons = Record<string, Rule[]>;

const root = join(import.meta.dirname, '../..');

const pathIn = (file: string): string => relative(root, file).replaceAll('\\', '/');

const pathOf = ([file]: Rule): string =>
  `test/${file.includes('/') ? file : `behaviour/${file}`}.test.ts`;

const matches = (rule: Rule, path: string, name: string): boolean =>
  path === pathOf(rule) && (rule[1]?.test(name) ?? true);

/** Its name after those of its suites, without the file's. */
const wholeName = ({ name, suite }: Readonly<RunnerTestCase | RunnerTestSuite>): string =>
  suite ? `${wholeName(suite)} > ${name}` : name;

const testsIn = ({ tasks }: Readonly<RunnerTestSuite>): RunnerTestCase[] =>
  tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task) : [task]));

/** A rule that matches no test of its file is an error. */
export function leaveOut(reasons: Reasons): void {
  // biome-ignore lint/correctness/noEmptyPattern: Vitest wants a pattern
  beforeAll(({}, { file }) => {
    const path = pathIn(file.filepath);
    const names = testsIn(file).map(wholeName);
    for (const rule of Object.values(reasons).flat()) {
      if (path !== pathOf(rule)) continue;
      if (!names.some((name) => matches(rule, path, name)))
        throw new Error(`left-out.ts: ${rule[1]} matches no test of ${path}`);
    }
  });
  beforeEach(({ task, skip }) => {
    const [path, name] = [pathIn(task.file.filepath), wholeName(task)];
    const entries = Object.entries(reasons);
    const reason = entries.find(([, rules]) =>
      rules.some((rule) => matches(rule, path, name)),
    )?.[0];
    if (!reason) return;
    task.meta.leftOut = reason;
    skip(reason);
  });
}
