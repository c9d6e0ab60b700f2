import { spawnSync } from 'node:child_process';
import type { TestContext } from 'vitest';
import { CHILD } from './child.js';
import { isRoot, skip } from './work.js';

/** Nobody: who owns nothing but what is given to them. */
export const USER = 65534;

/** What turns a command into an ordinary user's; nothing where the tests are run by one. */
export const asUser = isRoot
  ? ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups']
  : [];

/** Skips where Node or the package cannot be read by everybody. */
export function needUser(context: TestContext): void {
  const [file = '', ...args] = [
    ...asUser,
    process.execPath,
    '-e',
    'require(process.argv[1])',
    CHILD,
  ];
  const { status, stderr, error } = spawnSync(file, args, { encoding: 'utf8' });
  const reason = error ?? /^\w*Error.*/m.exec(stderr)?.[0] ?? stderr;
  if (status !== 0) skip(context, `no ordinary user can load the package: ${reason}`);
}
