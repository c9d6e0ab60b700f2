/** Matches a segment of a glob that has only `*`, `?`, classes in brackets and escapes. For others see groups.ts. */
import { anyOne, matchesSegment, parseWildcard, type Segment, star } from './wildmatch.js';

/** Returns whether a segment has neither braces nor groups. */
export function isSimple(segment: string): boolean {
  return !/[({]/.test(segment);
}

/**
 * Returns a matcher that takes at most glob times name, while a regular expression tries all places of each star. Brackets
 * have the meaning of a shell and of git. Returns undefined if the segment is wrong: unclosed brackets, or an
 * unknown class.
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
