/** The words that the stages of a selection share. */
import type { EntryKind } from '../types.js';

/** The numbers are also the order: of two stages the one that says less decides. */
export const verdicts = {
  /** Not copied; a directory is never opened. */
  leave: 0,
  /** A directory: asked about what is in it, and made only for something taken. */
  look: 1,
  /** Copied; a directory is made, and asked about what is in it. */
  take: 2,
  /** A directory: copied with all that is in it, and nothing below is asked. */
  takeAll: 3,
} as const;

export type Verdict = (typeof verdicts)[keyof typeof verdicts];

/** One entry of a listing. */
export interface Listed {
  /** As it is on disk: a byte per character (latin1). */
  name: string;
  kind: EntryKind;
}

/** Something to tell the user that does not end the copy. */
export interface SelectionWarning {
  code: 'GIT_UNAVAILABLE' | 'SOURCE_IGNORED';
  message: string;
  path: string;
}

const outsideAscii = /[\x80-\xff]/;

/** A name for people and globs: its UTF-8, or where it is none a character per byte. */
export function textOf(name: string): string {
  if (!outsideAscii.test(name)) return name;
  const text = Buffer.from(name, 'latin1').toString();
  return text.includes('\ufffd') ? name : text;
}

/** The other way: text as users write it, a byte per character. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
