import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.mjs';

let python;

/** Returns the path of a Python that has the packages of requirements.txt, which the first call installs. */
export function getPython() {
  python ??= install();
  return python;
}

function install() {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
  const venv = join(cacheDirectory, `prebuild-tools-${version}`);
  const path = join(venv, 'bin/python');
  const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  if (!existsSync(join(venv, 'installed'))) {
    run('python3', '-m', 'venv', '--clear', venv);
    run(path, '-m', 'pip', 'install', '--quiet', '--requirement', requirements);
    run('touch', join(venv, 'installed'));
  }
  return path;
}
