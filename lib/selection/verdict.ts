/** Terms that the stages of a selection share. */
import type { EntryKind } from '../types.js';

/** The numbers are also the order: of two stages the lower verdict decides. */
export const verdicts = {
  /** Not copied. A directory is never opened. */
  leave: 0,
  /** A directory: asked about its entries, and created only if one of them is included. */
  look: 1,
  /** Copied. A directory is created, and asked about its entries. */
  take: 2,
  /** A directory: copied with everything in it, without further questions. */
  takeAll: 3,
} as const;

export type Verdict = (typeof verdicts)[keyof typeof verdicts];

/** One entry of a listing. */
export interface Listed {
  /** As it is on disk: a byte per character (latin1). */
  name: string;
  kind: EntryKind;
}

/** A message for the user that does not end the copy. */
export interface SelectionWarning {
  code: 'GIT_UNAVAILABLE' | 'SOURCE_IGNORED';
  message: string;
  path: string;
}

const outsideAscii = /[\x80-\xff]/;

/** Returns a name for people and globs: decoded as UTF-8, or a character per byte if it is not UTF-8. */
export function textOf(name: string): string {
  if (!outsideAscii.test(name)) return name;
  const text = Buffer.from(name, 'latin1').toString();
  return text.includes('\ufffd') ? name : text;
}

/** Converts back: text as users write it, to a byte per character. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
