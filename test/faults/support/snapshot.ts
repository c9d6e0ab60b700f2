import { execFileSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { mark } from '../../support/attributes.js';
import { type Entry, readTree } from '../../support/compare.js';
import { hasTool } from '../../support/work.js';
import type { Mode } from './modes.js';

/** What the sweep compares of an entry; a field is left out where it is nobody's promise. */
export interface Known extends Pick<Entry, 'kind' | 'mode' | 'what' | 'size'> {
  owner: string;
  modified: string;
  /** The first of the names that are the same file. */
  twin: string;
  attributes: string;
}

export type Snapshot = Map<string, Known>;

export function readSnapshot(root: string, mode: Mode): Snapshot {
  const keeps = (...flags: string[]): boolean => flags.some((flag) => mode.args?.includes(flag));
  const timed = keeps('-a', '-p', '--sync', '--mirror');
  const attributes = keeps('-a') ? readAttributes(root) : new Map<string, string>();
  const first = new Map<bigint, string>();
  const found: Snapshot = new Map();
  for (const [name, entry] of [...readTree(root)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const stat = lstatSync(join(root, name), { bigint: true });
    if (!first.has(stat.ino)) first.set(stat.ino, name);
    const { kind, mode: bits, what, size } = entry;
    found.set(name, {
      kind,
      mode: bits,
      what,
      size,
      owner: keeps('-a', '-p') ? `${stat.uid}:${stat.gid}` : '',
      // Only archives give times to directories; what is in one changes it.
      modified: timed && (kind !== 'directory' || keeps('-a', '-p')) ? `${stat.mtimeNs}` : '',
      twin: keeps('-a') ? (first.get(stat.ino) ?? '') : '',
      attributes: attributes.get(name) ?? '',
    });
  }
  return found;
}

function readAttributes(root: string): Map<string, string> {
  if (!hasTool('getfattr')) return new Map();
  const text = execFileSync('getfattr', ['-Rhd', '-m', '-', '-e', 'hex', '.'], {
    cwd: root,
    encoding: 'latin1',
  });
  const paragraphs = text
    .split('\n\n')
    .filter(Boolean)
    .map((paragraph) => paragraph.trim().split('\n'));
  return new Map(
    paragraphs.map(([title = '', ...lines]) => [
      title.replace('# file: ', '').replace(/^\.$/, ''),
      lines
        .filter((line) => !line.startsWith(`${mark}=`))
        .sort()
        .join(' '),
    ]),
  );
}
