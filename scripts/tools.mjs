import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.mjs';

let tools;

/** The tools of requirements.txt, which the first call installs: paths of Zig and of their Python. */
export function getTools() {
  tools ??= install();
  return tools;
}

function install() {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
  const venv = join(cacheDirectory, `prebuild-tools-${version}`);
  const python = join(venv, 'bin/python');
  const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  if (!existsSync(join(venv, 'installed'))) {
    run('python3', '-m', 'venv', '--clear', venv);
    run(python, '-m', 'pip', 'install', '--quiet', '--requirement', requirements);
    run('touch', join(venv, 'installed'));
  }
  const find = ['-c', 'import ziglang; print(ziglang.__path__[0])'];
  return { python, zig: join(execFileSync(python, find, { encoding: 'utf8' }).trim(), 'zig') };
}
