/** What a copy of a git worktree means for the repository that it belongs to. */
import { readFile } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Answers } from '../bridge/answers.js';
import { named } from '../errors/arguments.js';
import { existing } from '../io/looks.js';
import { isWithin, join } from '../paths.js';
import type { Placement } from '../placement/placement.js';
import { verdicts } from '../selection/verdict.js';
import type { CopyWarning } from '../types.js';

const name = Buffer.from('.git');

/** A `.git` file has one line. */
const mostBytes = 4096n;

/**
 * Warns of each SRC whose own `.git` file leads to a repository outside SRC, as that of a worktree does: git in the copy would
 * change it. Never rejects.
 */
export async function gitFileWarnings(
  { roots, shown }: Placement,
  answers: Answers,
): Promise<CopyWarning[]> {
  const warnings: CopyWarning[] = [];
  for (const root of roots.filter(({ kind }) => kind === 'directory')) {
    try {
      const file = join(root.src, name);
      const found = await existing(file, false);
      if (!found?.isFile() || found.size > mostBytes) continue;
      const text = (await promisify(readFile)(file)).toString('latin1');
      const [, gitDir] = /^gitdir: (.+)/.exec(text) ?? [];
      if (!gitDir) continue;
      const leadsTo = resolve(root.src.toString('latin1'), gitDir);
      if (isWithin(Buffer.from(leadsTo, 'latin1'), root.src)) continue;
      if ((await answers.verdictOn(root, [name], 'file')) === verdicts.leave) continue;
      const path = shown.src(file);
      const message = `'${path}' leads to a repository outside the source, which git in the copy would change: exclude '.git', or use ${named('worktree', true)} in a worktree of its own`;
      warnings.push({ code: 'GIT_FILE_COPIED', message, path });
    } catch {} // then nothing is known about it
  }
  return warnings;
}
