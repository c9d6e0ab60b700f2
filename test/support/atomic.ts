import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { readTree } from './compare.js';
import { makeFiles } from './trees.js';

/** Files that all have the same to say, in a few directories. */
export function makeUniform(root: string, content: string, files: number): string {
  const names = Array.from({ length: files }, (_, i) => `${content} ${i % 20}/file ${i}`);
  makeFiles(root, Object.fromEntries(names.map((name) => [name, `${content} in ${name}`])));
  return root;
}

/** One line for a whole tree, that is the same for the same tree only; `missing` for none. */
export function digest(root: string): string {
  if (!readdirSync(dirname(root)).includes(root.slice(dirname(root).length + 1))) return 'missing';
  const hash = createHash('sha256');
  const entries = [...readTree(root)].sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [name, { kind, mode, what }] of entries)
    hash.update(`${name} ${kind} ${mode} ${what}\n`);
  return hash.digest('hex');
}

/** The hidden entries of atomic copies: locks, new trees and old ones. */
export function hiddenIn(parent: string): string[] {
  return readdirSync(parent).filter((name) => name.includes('.fastcp-'));
}

/** The trees among them, without their locks. */
export function hiddenTrees(parent: string): string[] {
  return hiddenIn(parent).filter((name) => !name.endsWith('.lock'));
}
