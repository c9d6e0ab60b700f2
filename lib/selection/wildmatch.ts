/**
 * Matches patterns as git does: by bytes, so strings have one byte per character here. Globs match text in the same
 * way, a character at a time.
 *
 * Both levels, a path of segments and a segment of bytes, use the same method. Pattern and text are compared in step
 * until something differs. Then the comparison starts again at the last star, which takes one more. Going back
 * further is never needed, so the time is at most pattern times text, for every pattern.
 */

/** A character's code, the set of characters that match, one of any, or a star. */
type Token = number | CharacterSet;
const star = -1;
const anyOne = -2;

export type Segment = Token[];
/** Double star and slash: any number of segments. */
const anyDirectories = Symbol('**/');
/** Double star at the end: the whole rest. */
const anyRest = Symbol('/**');

export type Wildcard = (Segment | typeof anyDirectories | typeof anyRest)[];

const slash = 0x2f;
const backslash = 0x5c;
const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a;

/** Folds ASCII only, as git does with core.ignoreCase. */
export function foldCase(bytes: string): string {
  return bytes.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** With `fold` the text must be folded. Returns undefined if nothing can match: git also fails silently. */
export function parseWildcard(pattern: string, fold: boolean): Wildcard | undefined {
  const wildcard: Wildcard = [];
  let segment: Segment = [];
  const endSegment = (): void => {
    wildcard.push(segment);
    segment = [];
  };
  for (let at = 0; at < pattern.length; ) {
    const byte = pattern.charCodeAt(at);
    if (byte === slash) {
      endSegment();
      at += 1;
    } else if (byte === backslash) {
      at += 1;
      if (at === pattern.length) return undefined;
      // Not folded: in git an escaped capital matches nothing if case is ignored.
      if (pattern[at] === '/') endSegment();
      else segment.push(pattern.charCodeAt(at));
      at += 1;
    } else if (pattern[at] === '[') {
      const set = parseClass(pattern, at + 1, fold);
      if (!set) return undefined;
      segment.push(set.characters);
      at = set.end;
    } else if (pattern[at] === '*') {
      const start = at;
      while (pattern[at] === '*') at += 1;
      if (!isDouble(pattern, start, at)) {
        segment.push(star);
      } else if (at === pattern.length) {
        wildcard.push(anyRest);
        return wildcard;
      } else {
        wildcard.push(anyDirectories);
        // Before an escaped slash it stands for at least one directory.
        if (pattern[at] === '/') at += 1;
        else segment.push(star);
      }
    } else {
      const literal = fold && isUpper(byte) ? byte + 0x20 : byte;
      segment.push(pattern[at] === '?' ? anyOne : literal);
      at += 1;
    }
  }
  endSegment();
  return wildcard;
}

/** Two stars or more cross slashes only if they are alone between two slashes. */
function isDouble(pattern: string, start: number, end: number): boolean {
  if (end - start < 2 || (start > 0 && pattern[start - 1] !== '/')) return false;
  return end === pattern.length || pattern[end] === '/' || pattern.startsWith('\\/', end);
}

const classes: Record<string, RegExp> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it names
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\n\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
};

/** A set of character codes. */
class CharacterSet {
  /** Those below 256, and ranges of the others. */
  #low = new Uint8Array(256);
  #ranges: [from: number, to: number][] = [];
  #negated: boolean;

  constructor(negated: boolean) {
    this.#negated = negated;
  }

  add(from: number, to = from): void {
    for (let code = from; code <= Math.min(to, 255); code++) this.#low[code] = 1;
    if (to > 255) this.#ranges.push([from, to]);
  }

  has(code: number): boolean {
    const found =
      code < 256
        ? this.#low[code] === 1
        : this.#ranges.some(([from, to]) => from <= code && code <= to);
    return found !== this.#negated;
  }
}

/** Parses the text between brackets, from behind the first one. */
function parseClass(
  pattern: string,
  start: number,
  fold: boolean,
): { characters: CharacterSet; end: number } | undefined {
  let at = start;
  const negated = pattern[at] === '!' || pattern[at] === '^';
  if (negated) at += 1;
  const characters = new CharacterSet(negated);
  const add = (code: number): void => characters.add(code);
  // Only ranges ignore case between brackets.
  const addRange = (from: number, to: number): void => {
    characters.add(from, to);
    const [upper, last] = [Math.max(from, 0x41), Math.min(to, 0x5a)];
    if (fold && upper <= last) characters.add(upper + 0x20, last + 0x20);
  };
  /** The possible start of a range. */
  let before: number | undefined;
  for (let first = true; first || pattern[at] !== ']'; first = false, at += 1) {
    if (at >= pattern.length) return undefined;
    const isRange = pattern[at] === '-' && before !== undefined && at + 1 < pattern.length;
    if (isRange && pattern[at + 1] !== ']') {
      at += pattern[at + 1] === '\\' ? 2 : 1;
      if (at >= pattern.length) return undefined;
      addRange(before ?? 0, pattern.charCodeAt(at));
      before = undefined;
    } else if (pattern.startsWith('[:', at)) {
      const end = pattern.indexOf(']', at + 2);
      if (end < 0) return undefined;
      if (end < at + 3 || pattern[end - 1] !== ':') {
        before = pattern.charCodeAt(at);
        add(before);
        continue;
      }
      const name = pattern.slice(at + 2, end - 1);
      if (!Object.hasOwn(classes, name)) return undefined;
      for (let byte = 0; byte < 256; byte++) {
        if (classes[name]?.test(String.fromCharCode(byte))) add(byte);
      }
      if (fold && name === 'upper') addRange(0x61, 0x7a);
      before = undefined;
      at = end;
    } else {
      if (pattern[at] === '\\') at += 1;
      if (at >= pattern.length) return undefined;
      before = pattern.charCodeAt(at);
      add(before);
    }
  }
  return { characters, end: at + 1 };
}

/** Returns whether all of `text` from `start` matches. */
export function matchesWildcard(wildcard: Wildcard, text: string, start: number): boolean {
  let at = start; // start of a segment of the text; beyond its length: none is left
  let part = 0;
  let retryPart = -1;
  let retryAt = 0;
  for (;;) {
    const expected = wildcard[part];
    if (expected === anyDirectories) {
      part += 1;
      retryPart = part;
      retryAt = at;
      continue;
    }
    if (at > text.length) return expected === undefined;
    if (expected === anyRest) return true;
    const end = segmentEnd(text, at);
    if (expected && matchesSegment(expected, text, at, end)) {
      part += 1;
      at = end + 1;
      continue;
    }
    if (retryPart < 0) return false;
    retryAt = segmentEnd(text, retryAt) + 1;
    at = retryAt;
    part = retryPart;
  }
}

function segmentEnd(text: string, at: number): number {
  const end = text.indexOf('/', at);
  return end < 0 ? text.length : end;
}

/** Returns whether all of `text` between `start` and `end` matches. The text decides what a character is. */
export function matchesSegment(
  segment: Segment,
  text: string,
  start: number,
  end: number,
): boolean {
  let at = start;
  let token = 0;
  let retryToken = -1;
  let retryAt = 0;
  for (;;) {
    const expected = segment[token];
    if (expected === star) {
      token += 1;
      if (token === segment.length) return true;
      retryToken = token;
      retryAt = at;
      continue;
    }
    if (at === end) return expected === undefined;
    const code = text.charCodeAt(at);
    if (
      expected === code ||
      expected === anyOne ||
      (typeof expected === 'object' && expected.has(code))
    ) {
      token += 1;
      at += 1;
      continue;
    }
    if (retryToken < 0) return false;
    retryAt += 1;
    at = retryAt;
    token = retryToken;
  }
}
