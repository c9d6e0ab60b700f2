// Builds the addon once more with other options of binding/CMakeLists.txt: with a sanitizer, or over the model of macOS.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The value of FASTCP_PREBUILD with which Node loads the variant. */
export const variantAt = (name) => join(root, 'build', name);

/** Builds a variant. Throws with the compiler's output if that fails. `options`: CMake's, as `NAME=VALUE`. */
export function buildVariant(name, options) {
  const where = join(variantAt(name), 'build');
  const run = (command, ...args) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: Number.POSITIVE_INFINITY,
    });
    if (status !== 0) throw error ?? new Error(`${command} failed:\n${stdout}${stderr}`);
  };
  // Compiling alone would keep the options of the last time.
  const cmakeJs = join(root, 'node_modules/.bin/cmake-js');
  run(cmakeJs, 'configure', '--out', where, ...options.map((each) => `--CD${each}`));
  // After an error cmake-js would begin again without the options.
  run('cmake', '--build', where, '--parallel', '2');
}
