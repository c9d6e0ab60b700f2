/** A segment of a glob with no more than `*`, `?`, classes in brackets and escapes in it. */
import { anyOne, matchesSegment, parseWildcard, type Segment, star } from './wildmatch.js';

/** Of picomatch's syntax nothing else: braces, groups, and `!` at the start. */
export function isSimple(segment: string): boolean {
  return !/^!|[(){}|]/.test(segment);
}

/**
 * In linear time, where a regular expression tries all places of each star. Brackets mean what they mean in a shell
 * and in git. Undefined if the segment is wrong: brackets that do not close, an unknown class.
 */
export function simpleMatcher(segment: string): ((name: string) => boolean) | undefined {
  const tokens = /[[\\]/.test(segment) ? parseWildcard(segment, false)?.[0] : starsOf(segment);
  if (!Array.isArray(tokens)) return undefined;
  return (name) => matchesSegment(tokens, name, 0, name.length);
}

function starsOf(segment: string): Segment {
  return segment
    .split('')
    .map((unit) => (unit === '*' ? star : unit === '?' ? anyOne : unit.charCodeAt(0)));
}
