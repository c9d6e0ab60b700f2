/** A segment of a glob with no more than `*` and `?` in it. */
import { anyOne, matchesSegment, type Segment, star } from './wildmatch.js';

/** Of picomatch's syntax nothing else: brackets, braces, groups, escapes, and `!` at the start. */
export function hasOnlyStars(segment: string): boolean {
  return /[*?]/.test(segment) && !/^!|[\\[\](){}|^$]/.test(segment);
}

/** In linear time, where a regular expression tries all places of each star. */
export function starMatcher(segment: string): (name: string) => boolean {
  const tokens: Segment = segment
    .split('')
    .map((unit) => (unit === '*' ? star : unit === '?' ? anyOne : unit.charCodeAt(0)));
  return (name) => matchesSegment(tokens, name, 0, name.length);
}
