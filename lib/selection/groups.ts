/**
 * Matches a segment of a glob that has braces or groups, as bash does with `extglob`: `{a,b}`, `{1..9}`, `@(a|b)`,
 * `?(a)`, `*(a)`, `+(a)`, `!(a)`, and `(a|b)` like `@(a|b)`.
 *
 * A regular expression tries all combinations of stars and repeated groups one after another, which takes forever
 * with `*(a*)b` and a long name. Here a part of the glob leads from all places that are reached in the name to all
 * places where it can end. The time is polynomial in the lengths of glob and name, for every glob.
 */
import { anyOne, type CharacterSet, parseClass, star } from './wildmatch.js';

/** How often one of the alternatives matches: once, at most once, any number of times, at least once, never. */
type Kind = '@' | '?' | '*' | '+' | '!';

interface Group {
  kind: Kind;
  alternatives: Sequence[];
  /** All alternatives by their length, if they are literal: a long range is looked up, not tried. */
  texts: Map<number, Set<string>> | undefined;
}

type Sequence = (string | typeof star | typeof anyOne | CharacterSet | Group)[];

/**
 * The places in a name at which the glob so far can end: `places[i]` is 1 if it can before character i. The last one is
 * the end of the name.
 */
type Places = Uint8Array;

/** The maximum nesting depth of groups. */
const mostDepth = 100;
/** The maximum number of alternatives that a range such as `{1..9}` stands for. */
const mostInRange = 1000;

/** Returns undefined if the segment does not parse. */
export function groupMatcher(segment: string): ((name: string) => boolean) | undefined {
  const parser = new Parser(segment);
  const sequence = parser.sequence('');
  if (!sequence) return undefined;
  return (name) => {
    const begin = new Uint8Array(name.length + 1);
    begin[0] = 1;
    return new Matcher(name).follow(sequence, begin)[name.length] === 1;
  };
}

class Parser {
  #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Parses up to one of `ends`, or to the end of the text if there are none. */
  sequence(ends: string): Sequence | undefined {
    const text = this.#text;
    const sequence: Sequence = [];
    while (this.#at < text.length && !ends.includes(text[this.#at] as string)) {
      const start = this.#at++;
      const character = text[start] as string;
      if (character === '[') {
        const set = parseClass(text, this.#at, false);
        if (!set) return undefined;
        this.#at = set.end;
        sequence.push(set.characters);
      } else if (character === '{') {
        const alternatives = this.#alternatives(',', '}');
        if (!alternatives) return undefined;
        const inBraces = braces(alternatives, text.slice(start + 1, this.#at - 1));
        if (!inBraces) return undefined;
        sequence.push(...inBraces);
      } else if (character === '(') {
        const alternatives = this.#alternatives('|', ')');
        if (!alternatives) return undefined;
        sequence.push(...parentheses(alternatives));
      } else if ('@?*+!'.includes(character) && text[this.#at] === '(') {
        this.#at += 1;
        const alternatives = this.#alternatives('|', ')');
        if (!alternatives) return undefined;
        sequence.push(groupOf(character as Kind, alternatives));
      } else if (character === '*') {
        sequence.push(star);
      } else if (character === '?') {
        sequence.push(anyOne);
      } else {
        if (character === '\\') this.#at += 1;
        if (this.#at > text.length) return undefined;
        sequence.push(text.charAt(this.#at - 1));
      }
    }
    return ends === '' || this.#at < text.length ? joined(sequence) : undefined;
  }

  #alternatives(separator: string, end: string): Sequence[] | undefined {
    const alternatives: Sequence[] = [];
    this.#depth += 1;
    if (this.#depth > mostDepth) return undefined;
    do {
      const one = this.sequence(separator + end);
      if (!one) return undefined;
      alternatives.push(one);
    } while (this.#text[this.#at++] === separator);
    this.#depth -= 1;
    return alternatives;
  }
}

function groupOf(kind: Kind, alternatives: Sequence[]): Group {
  const texts = new Map<number, Set<string>>();
  for (const [text = '', ...more] of alternatives) {
    if (typeof text !== 'string' || more.length > 0)
      return { kind, alternatives, texts: undefined };
    const alike = texts.get(text.length) ?? new Set();
    texts.set(text.length, alike.add(text));
  }
  return { kind, alternatives, texts };
}

/** Joins the literal characters that follow one another. */
function joined(sequence: Sequence): Sequence {
  const parts: Sequence = [];
  for (const part of sequence) {
    const before = parts.at(-1);
    if (typeof part === 'string' && typeof before === 'string') parts.splice(-1, 1, before + part);
    else parts.push(part);
  }
  return parts;
}

/** Braces without a comma are a range or, as in bash, themselves. Returns undefined if a range is too long. */
function braces(alternatives: Sequence[], inside: string): Sequence | undefined {
  if (alternatives.length > 1) return [groupOf('@', alternatives)];
  const range = rangeOf(inside);
  if (range.length > mostInRange) return undefined;
  const each = range.map((one): Sequence => [one]);
  if (each.length > 0) return [groupOf('@', each)];
  return ['{', ...(alternatives[0] ?? []), '}'];
}

/** Parentheses without `|` are part of many names: `app/(group)/page.tsx`. */
function parentheses(alternatives: Sequence[]): Sequence {
  if (alternatives.length > 1) return [groupOf('@', alternatives)];
  return ['(', ...(alternatives[0] ?? []), ')'];
}

/** Expands `1..9`, `01..10`, `a..f` or `1..9..2`; stops at one more than the maximum. */
function rangeOf(text: string): string[] {
  const [, from = '', to = '', by = '1'] =
    /^(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(-?\d{1,15}))?$/.exec(text) ??
    /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d{1,15}))?$/.exec(text) ??
    [];
  if (from === '') return [];
  const step = Math.abs(+by) || 1;
  const isNumber = /\d/.test(from);
  const [first, last] = isNumber ? [+from, +to] : [from.charCodeAt(0), to.charCodeAt(0)];
  const count = Math.floor(Math.abs(last - first) / step) + 1;
  const isPadded = [from, to].some((end) => /^-?0\d/.test(end));
  const width = isPadded ? Math.max(from.length, to.length) : 0;
  return Array.from({ length: Math.min(count, mostInRange + 1) }, (_, index) => {
    const value = first + (first < last ? 1 : -1) * step * index;
    if (!isNumber) return String.fromCharCode(value);
    const sign = value < 0 ? '-' : '';
    return sign + String(Math.abs(value)).padStart(width - sign.length, '0');
  });
}

/** Matches one name. */
class Matcher {
  #name: string;
  /** The places that the alternatives of a repeated or negated group lead to, by the place where one begins. */
  #known: Map<Group, Places[]> | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Returns the places that `sequence` leads to from `places`, which it may overwrite. */
  follow(sequence: Sequence, places: Places): Places {
    let reached = places;
    for (const part of sequence) {
      if (part === star) {
        const least = reached.indexOf(1);
        if (least >= 0) reached.fill(1, least);
      } else if (typeof part === 'string') {
        reached = this.#behindText(part, reached);
      } else if (typeof part === 'object' && 'kind' in part) {
        reached = this.#behindGroup(part, reached);
      } else {
        reached = this.#behindOne(part, reached);
      }
    }
    return reached;
  }

  #behindText(text: string, places: Places): Places {
    const reached = new Uint8Array(places.length);
    const name = this.#name;
    for (let at = name.indexOf(text); at >= 0; at = name.indexOf(text, at + 1)) {
      if (places[at] === 1) reached[at + text.length] = 1;
    }
    return reached;
  }

  #behindOne(part: typeof anyOne | CharacterSet, places: Places): Places {
    const reached = new Uint8Array(places.length);
    for (let at = 0; at < this.#name.length; at++) {
      if (places[at] !== 1) continue;
      if (part === anyOne || part.has(this.#name.charCodeAt(at))) reached[at + 1] = 1;
    }
    return reached;
  }

  #behindGroup(group: Group, places: Places): Places {
    switch (group.kind) {
      case '@':
        return this.#once(group, places, false);
      case '?':
        return this.#once(group, places, true);
      case '!':
        return this.#behindOthers(group, places);
      default:
        return this.#repeated(group, places);
    }
  }

  #repeated(group: Group, places: Places): Places {
    const pending = new Uint8Array(places);
    const reached = group.kind === '*' ? new Uint8Array(places) : new Uint8Array(places.length);
    // Matches never move left, so one pass from left to right is enough.
    for (let start = pending.indexOf(1); start >= 0; start = pending.indexOf(1, start + 1)) {
      const once = this.#onceFrom(group, start);
      for (let at = start; at < once.length; at++) {
        if (once[at] === 1) reached[at] = pending[at] = 1;
      }
    }
    return reached;
  }

  /** Returns the places that text which no alternative matches leads to. */
  #behindOthers(group: Group, places: Places): Places {
    const reached = new Uint8Array(places.length);
    for (let start = places.indexOf(1); start >= 0; start = places.indexOf(1, start + 1)) {
      const once = this.#onceFrom(group, start);
      for (let at = start; at < once.length; at++) if (once[at] !== 1) reached[at] = 1;
    }
    return reached;
  }

  /** Returns the places that the alternatives lead to from `places`, and those themselves if it is `optional`. */
  #once({ alternatives, texts }: Group, places: Places, optional: boolean): Places {
    const all = optional ? new Uint8Array(places) : new Uint8Array(places.length);
    if (texts) {
      for (let at = places.indexOf(1); at >= 0; at = places.indexOf(1, at + 1)) {
        for (const [length, alike] of texts) {
          if (alike.has(this.#name.slice(at, at + length))) all[at + length] = 1;
        }
      }
      return all;
    }
    for (const alternative of alternatives) {
      const reached = this.follow(alternative, new Uint8Array(places));
      for (let at = 0; at < all.length; at++) if (reached[at] === 1) all[at] = 1;
    }
    return all;
  }

  #onceFrom(group: Group, start: number): Places {
    this.#known ??= new Map();
    const known = this.#known.get(group) ?? [];
    this.#known.set(group, known);
    const before = known[start];
    if (before) return before;
    const places = new Uint8Array(this.#name.length + 1);
    places[start] = 1;
    const once = this.#once(group, places, false);
    known[start] = once;
    return once;
  }
}
