/** A segment of a glob with no more than `*` and `?` in it. */

/** Of picomatch's syntax nothing else: brackets, braces, groups, escapes, and `!` at the start. */
export function hasOnlyStars(segment: string): boolean {
  return /[*?]/.test(segment) && !/^!|[\\[\](){}|^$]/.test(segment);
}

/**
 * Takes the leftmost place for what stands between two stars: if any will do, that one does. So the time is
 * at most segment times name, where a regular expression tries all combinations.
 */
export function starMatcher(segment: string): (name: string) => boolean {
  const [first = '', ...between] = segment.split(/\*+/);
  const last = between.pop();
  if (last === undefined) return (name) => name.length === first.length && isAt(first, name, 0);
  return (name) => {
    const end = name.length - last.length;
    if (end < first.length || !isAt(first, name, 0) || !isAt(last, name, end)) return false;
    let at = first.length;
    for (const part of between) {
      at = find(part, name, at, end);
      if (at < 0) return false;
      at += part.length;
    }
    return true;
  };
}

/** Where `part` begins between `from` and `end`; -1 where it does not. */
function find(part: string, name: string, from: number, end: number): number {
  for (let at = from; at + part.length <= end; at++) if (isAt(part, name, at)) return at;
  return -1;
}

function isAt(part: string, name: string, at: number): boolean {
  for (let i = 0; i < part.length; i++) {
    if (part[i] !== '?' && part[i] !== name[at + i]) return false;
  }
  return true;
}
