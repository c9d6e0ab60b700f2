/** Reads the files of --include-from and --exclude-from, as rsync does. */
import { readFileSync } from 'node:fs';
import { parseGlobs } from '../lib/selection/globs.js';
import { globOf, wordOf } from './arguments.js';

/** One glob per line. Ignores empty lines and lines that begin with `#` or `;`. `-` is standard input. */
export function readPatterns(file: string, error: (text: string) => never): string[] {
  const text = wordOf(read(file, error)).replace(/^\ufeff/, '');
  const lines = text.split(/\r?\n/).map(globOf);
  return lines.flatMap((line, index) => {
    if (/^\s*$|^[#;]/.test(line)) return [];
    if (/^[-+] |^!$/.test(line)) {
      error(
        `${file}:${index + 1}: rsync's filter rules ('${line}') are not supported: one glob per line`,
      );
    }
    // Git drops it, and rsync takes it for a part of the name. With --mirror this would decide which entries are deleted.
    if (/^\s|\s$/.test(line)) {
      error(
        `${file}:${index + 1}: '${line}' begins or ends with a blank: remove it, or write [ ] for a blank in a name`,
      );
    }
    try {
      parseGlobs([line], 'globs');
    } catch (failure) {
      const [, what] = / must be (.*)\. Received /s.exec((failure as Error).message) ?? [];
      error(`${file}:${index + 1}: '${line}' is not ${what}`);
    }
    return [line];
  });
}

function read(file: string, error: (text: string) => never): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (failure) {
    const why = (failure as Error).message.replace(/^\w+: |, \w+( '.*')?$/g, '');
    return error(`cannot read the globs in '${file}': ${why}`);
  }
}
