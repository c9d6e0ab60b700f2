import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, type TestContext, TestRunner } from 'vitest';

export const isRoot = process.getuid?.() === 0;

/** The addon is macOS's, over a model of its calls: scripts/darwin.mjs. */
export const isDarwinModel = process.env.FASTCP_DARWIN_MODEL !== undefined;

/** Only what every system has is used: test/portable. */
export const isPortable = process.env.FASTCP_PORTABLE !== undefined;

/** The addon is that for arm64, under qemu, which cannot trace: scripts/arm64.mjs. */
const isQemu = process.env.FASTCP_ARM64 !== undefined;

/** A factor for the time limits of single tests. test/arm64/vitest.config.ts has those of the others. */
export const slowness = isQemu ? 10 : 1;

/**
 * A directory that goes when the tests of the file are over. In memory where that is possible: ext4
 * makes files slowly for minutes after many were deleted.
 */
export function workDirectory(name: string): string {
  const directory = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `fastcp-${name}-`),
  );
  chmodSync(directory, 0o755); // ordinary users have work in it
  afterAll(() => removeTree(directory));
  return directory;
}

/** Also what is deeper than PATH_MAX, which fs.rm() cannot reach. */
export function removeTree(directory: string): void {
  if (process.platform === 'win32') {
    rmSync(directory, { recursive: true, force: true, maxRetries: 9 });
    return;
  }
  if (!existsSync(directory)) return;
  if (!isRoot) execFileSync('chmod', ['-R', 'u+rwX', directory]);
  const flags = process.platform === 'linux' && !isPortable ? ['--one-file-system'] : [];
  execFileSync('rm', ['-rf', ...flags, directory]);
}

export function hasTool(name: string): boolean {
  if (isQemu && name === 'strace') return false;
  if (isPortable && !['git', 'python3'].includes(name)) return false;
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return directories.some((directory) => existsSync(join(directory, name)));
}

/** Skips the test, and says why. */
export function skip(context: TestContext, reason: string): never {
  console.warn(`SKIPPED ${context.task.name}: ${reason}`);
  return context.skip(reason);
}

export function needRoot(context: TestContext): void {
  if (!isRoot || isPortable) skip(context, 'it takes root');
}

export function needTool(context: TestContext, name: string): void {
  if (!hasTool(name))
    skip(context, `${name} is not ${isPortable ? 'on all systems' : 'installed'}`);
}

/** The same for helpers that run a program: skips the test that calls them. In a hook, it throws. */
export function needToolHere(name: string): void {
  if (hasTool(name)) return;
  const context = TestRunner.getCurrentTest()?.context;
  if (!context) throw new Error(`${name} is not installed`);
  needTool(context, name);
}
