// Builds the addon once more with other options of binding/CMakeLists.txt: with a sanitizer, or over the model of macOS.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Builds into build/NAME/build, and returns build/NAME, for FASTCP_PREBUILD. Throws with the compiler's output if it
 * fails. `options`: CMake's, as `NAME=VALUE`.
 */
export function buildVariant(name, options) {
  const at = join(root, 'build', name);
  const run = (command, ...args) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: root,
      encoding: 'utf8',
    });
    if (status !== 0) throw error ?? new Error(`${command} failed:\n${stdout}${stderr}`);
  };
  // Compiling alone would keep the options of the last time.
  const cmakeJs = join(root, 'node_modules/.bin/cmake-js');
  run(cmakeJs, 'configure', '--out', join(at, 'build'), ...options.map((each) => `--CD${each}`));
  // After an error cmake-js would begin again without the options.
  run('cmake', '--build', join(at, 'build'), '--parallel', '2');
  return at;
}
