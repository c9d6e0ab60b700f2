/** Repositories for tests, and what git itself says about them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { needToolHere } from '../../support/work.js';

/** The machine's own configuration has no say. */
export const gitEnvironment = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  XDG_CONFIG_HOME: '/nonexistent',
};

export function git(directory: string, args: string[], input?: string): string[] {
  needToolHere('git');
  const output = execFileSync('git', ['-C', directory, ...args], {
    env: { ...process.env, ...gitEnvironment },
    encoding: 'latin1',
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(input === undefined ? {} : { input: Buffer.from(input, 'latin1') }),
  });
  return output.split('\0').slice(0, -1);
}

/** As little as git takes for a repository: faster than `git init`. */
export function makeRepository(directory: string, { ignoreCase = false } = {}): string {
  const dotGit = join(directory, '.git');
  for (const name of ['objects', 'refs', 'info']) {
    mkdirSync(join(dotGit, name), { recursive: true });
  }
  writeFileSync(join(dotGit, 'HEAD'), 'ref: refs/heads/main\n');
  const config = `[core]\n\trepositoryformatversion = 0\n\tignorecase = ${ignoreCase}\n`;
  writeFileSync(join(dotGit, 'config'), config);
  return directory;
}

/** Puts paths (a byte per character) into the index, whatever rules say. */
export function track(directory: string, paths: readonly string[], mode = '100644'): void {
  if (paths.length === 0) return;
  const empty = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';
  const lines = paths.map((path) => `${mode} ${empty} 0\t${path}\0`).join('');
  git(directory, ['update-index', '-z', '--index-info'], lines);
}

/** Tracked and not ignored, but for what is in nested repositories. */
export function filesOfGit(directory: string): string[] {
  return git(directory, ['ls-files', '-co', '--exclude-standard', '-z']);
}

/** For each path that a rule matches, which one: `file:line:pattern`. */
export function rulesOfGit(directory: string, paths: readonly string[]): Map<string, string> {
  const input = paths.map((path) => `${path}\0`).join('');
  const rules = new Map<string, string>();
  let fields: string[] = [];
  try {
    fields = git(directory, ['check-ignore', '--no-index', '-v', '-z', '--stdin'], input);
  } catch (error) {
    if ((error as { status?: number }).status !== 1) throw error; // 1: nothing is ignored
  }
  for (let i = 0; i + 3 < fields.length; i += 4) {
    const [file, line, pattern, path] = fields.slice(i, i + 4) as [string, string, string, string];
    rules.set(path, `${file}:${line}:${pattern}`);
  }
  return rules;
}
