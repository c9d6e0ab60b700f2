import { join, relative } from 'node:path';
import { beforeEach } from 'vitest';
import { reasonToLeaveOut } from './left-out.js';

// Leaves tests out of a run over the model: scripts/darwin.mjs, which prints the reasons.

declare module 'vitest' {
  interface TaskMeta {
    leftOut?: string;
  }
}

const root = join(import.meta.dirname, '../..');

beforeEach(({ task, skip }) => {
  const names = [task.name];
  for (let suite = task.suite; suite; suite = suite.suite) names.unshift(suite.name);
  const reason = reasonToLeaveOut(relative(root, task.file.filepath), names.join(' > '));
  if (!reason) return;
  task.meta.leftOut = reason;
  skip(reason);
});
