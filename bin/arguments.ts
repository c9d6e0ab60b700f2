/**
 * The words of the command line as bytes. Node decodes them as UTF-8 and loses bytes of names that are not
 * UTF-8. Here each such byte is a lone surrogate, U+DC80 to U+DCFF, which no decoded word has.
 */
import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync, statSync } from 'node:fs';

const replaced = '\ufffd';
const escaped = /[\udc80-\udcff]/u;

/** Returns the words. Throws an Error if the bytes of a word cannot be found. */
export function readArguments(): string[] {
  const words = process.argv.slice(2);
  if (!words.some((word) => word.includes(replaced))) return words;
  const bytes = commandLine().slice(-words.length);
  if (words.every((word, index) => bytes[index]?.toString() === word)) return bytes.map(wordOf);
  const unknown = words.find((word) => word.includes(replaced) && !existsSync(word));
  if (unknown === undefined) return words;
  throw new Error(
    `'${unknown}' is not valid UTF-8, and this system does not tell a program the bytes of its arguments; name a directory above it, or use the library with a Buffer`,
  );
}

/** Returns the path that a word stands for. */
export function pathOf(word: string): string | Buffer {
  return escaped.test(word) ? encode(word) : word;
}

/** Returns the glob that a word stands for. Names that are not UTF-8 are matched a character per byte. */
export function globOf(word: string): string {
  const segments = word.split('/');
  return segments
    .map((one) => (escaped.test(one) ? encode(one).toString('latin1') : one))
    .join('/');
}

/**
 * `user@host:path`, `host:/path` or a URL. Not `host:path`, which may be a name like `12:30`. A letter and a colon may be a drive
 * of Windows.
 */
export function looksRemote(word: string): boolean {
  return /^([\w.-]+@[\w.-]+:|[\w.-]{2,}:\/)/.test(word);
}

/** Returns whether all of a word is UTF-8. */
export function isText(word: string): boolean {
  return !escaped.test(word);
}

/** Returns false also if the path cannot be reached. */
export function isDirectory(path: string | Buffer): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Returns all words, including those of Node before the script. Empty if the system does not provide them. */
function commandLine(): Buffer[] {
  try {
    const words = readFileSync('/proc/self/cmdline', 'latin1').split('\0').slice(0, -1);
    return words.map((word) => Buffer.from(word, 'latin1'));
  } catch {
    return [];
  }
}

/** Returns the word that bytes stand for. */
export function wordOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] as number;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const character = bytes.subarray(at, at + length);
    const valid = isUtf8(character);
    text += valid ? character.toString() : String.fromCharCode(0xdc00 + lead);
    at += valid ? length : 1;
  }
  return text;
}

function encode(text: string): Buffer {
  const parts = Array.from(text, (character) =>
    escaped.test(character)
      ? Buffer.from([character.charCodeAt(0) - 0xdc00])
      : Buffer.from(character),
  );
  return Buffer.concat(parts);
}
