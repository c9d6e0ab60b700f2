/** Reads the engine's questions about the entries of directories. */
import type { Listed } from '../selection/index.js';
import type { EntryKind } from '../types.js';
import { entryKinds } from './native.js';

/** The same as Questions::kExtraBit in binding/src/engine/run/questions.h. */
const extraBit = 0x80;

/** A question. `scope` is the number of the directory. */
export interface AskedEntries {
  id: number;
  scope: number;
  /** SRC's entries, then those of DEST that may be removed. */
  entries: Listed[];
  /** The number of SRC's entries. */
  own: number;
}

/** Reads the format of Questions::take(). */
export function* readQuestions(batch: Buffer): Generator<AskedEntries> {
  for (let at = 0; at < batch.length; ) {
    const id = batch.readUInt32LE(at);
    const scope = batch.readUInt32LE(at + 4);
    const count = batch.readUInt32LE(at + 8);
    const kinds = at + 16;
    const names = kinds + count;
    at = names + batch.readUInt32LE(at + 12);
    const entries = batch.toString('latin1', names, at - 1).split('\0') as (string | Listed)[];
    let own = 0;
    for (let i = 0; i < count; i++) {
      const byte = batch[kinds + i] as number;
      if (byte < extraBit) own += 1;
      const kind = entryKinds[byte & ~extraBit] as EntryKind;
      entries[i] = { name: entries[i] as string, kind };
    }
    yield { id, scope, entries: entries as Listed[], own };
  }
}
