// Runs clang-tidy or clang-format over the C++ sources: clang.mjs tidy | format | format-check
// Where the tool is not installed this is skipped, but not on CI.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const modes = {
  tidy: { tool: 'clang-tidy', args: ['--quiet', '-p', 'build'], files: /\.cc$/ },
  format: { tool: 'clang-format', args: ['-i'], files: /\.(cc|h)$/ },
  'format-check': { tool: 'clang-format', args: ['--dry-run', '--Werror'], files: /\.(cc|h)$/ },
};

const root = join(import.meta.dirname, '..');
const mode = modes[process.argv[2]];
let built;
if (!mode) fail(`usage: clang.mjs ${Object.keys(modes).join(' | ')}`);

// Version 14 first: others format differently.
const tool = [`${mode.tool}-14`, mode.tool].find((name) => !spawnSync(name, ['--version']).error);
if (!tool) {
  if (process.env.CI) fail(`${mode.tool} is not installed`);
  console.warn(`${mode.tool} is not installed: skipped`);
  process.exit(0);
}

if (mode.tool === 'clang-tidy' && !existsSync(join(root, 'build/compile_commands.json'))) {
  run('npm', ['run', 'build:native']);
}
const sources = join(root, 'binding/src');
const files = readdirSync(sources, { recursive: true })
  .filter((file) => mode.files.test(file))
  .map((file) => join(sources, file));
const here = mode.tool === 'clang-tidy' ? files.filter(isBuiltHere) : files;
if (here.length) run(tool, [...mode.args, ...here]);

/** Other systems' files include headers that are not here. */
function isBuiltHere(file) {
  built ??= readFileSync(join(root, 'build/compile_commands.json'), 'utf8');
  return built.includes(`"${file}"`);
}

function run(command, args) {
  const stdio = ['ignore', 'inherit', 'pipe'];
  const { status, stderr } = spawnSync(command, args, { cwd: root, stdio, encoding: 'utf8' });
  // clang-tidy counts the warnings in headers that are not ours, too, although it does not show them.
  process.stderr.write(stderr.replace(/^\d+ warnings? generated\.\n/gm, ''));
  if (status !== 0) process.exit(1);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
