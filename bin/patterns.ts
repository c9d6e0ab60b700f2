/** Reads the files of --include-from and --exclude-from, as rsync does. */
import { readFileSync } from 'node:fs';
import { parseGlobs } from '../lib/selection/globs.js';
import { globOf, wordOf } from './arguments.js';
import { refuse } from './refuse.js';

/** One glob per line. Ignores empty lines and lines that begin with `#` or `;`. `-` is standard input. */
export function readPatterns(file: string): string[] {
  const text = wordOf(read(file)).replace(/^\ufeff/, '');
  const lines = text.split(/\r?\n/).map(globOf);
  return lines.flatMap((line, index) => {
    if (/^\s*$|^[#;]/.test(line)) return [];
    if (/^[-+] |^!$/.test(line)) {
      refuse(
        `${file}:${index + 1}: rsync's filter rules ('${line}') are not supported: one glob per line`,
      );
    }
    // Git drops it, and rsync takes it for a part of the name. With --mirror this would decide which entries are deleted.
    if (/^\s|\s$/.test(line)) {
      refuse(
        `${file}:${index + 1}: '${line}' begins or ends with a blank: remove it, or write [ ] for a blank in a name`,
      );
    }
    parseGlobs([line], `${file}:${index + 1}`);
    return [line];
  });
}

function read(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (failure) {
    const why = (failure as Error).message.replace(/^\w+: |, \w+( '.*')?$/g, '');
    return refuse(`cannot read the globs in '${file}': ${why}`);
  }
}
