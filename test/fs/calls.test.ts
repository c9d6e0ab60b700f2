import { expect, test } from 'vitest';
import { run } from '../support/child.js';
import { needRoot, skip, workDirectory } from '../support/work.js';
import { newest } from './support/nodes.js';

// One call after the other by the newest Node and by ours: tree, all fields of the error, and what a callback is passed.

const work = workDirectory('calls');

interface Outcome {
  outcome: { code?: string };
  tree: Record<string, string>;
}
type Outcomes = Record<string, Outcome>;

/** Differences of cp and promises.cp. docs/fs.md has the reasons. */
const different = [
  // a second copy of the same symlink
  'link dangling again',
  'link to dir again',
  // force: false keeps symlinks
  'link no force',
  'link no force errorOnExist',
  // Node 26 refuses it in a new directory only
  'dev null within',
  // FIFOs, devices and sockets of DEST are not replaced
  'onto fifo',
];
/** Only the message differs: which values a wrong argument has. */
const otherWords = ['nul'];
/** cpSync() of Node follows, skips or overwrites them, or fails by another code. */
const differentNow = [
  'fifo within',
  'link onto file',
  'link onto file no force',
  'link to dir above',
  'link to dir below',
  'link to file again',
  'link to own target',
  'deref same within',
  'hard link same within',
  'empty dest of dir',
];

test('every call has the outcome of the newest Node', { timeout: 120_000 }, async (context) => {
  needRoot(context);
  if (!newest) return skip(context, 'Node 26 is not installed');
  const script = new URL('support/calls.mjs', import.meta.url).pathname;
  const outcomesOf = async (name: string, module: string): Promise<Outcomes> => {
    const { status, stdout, stderr } = await run([
      ...[newest ?? '', '--no-warnings', script, `${work}/${name}`, module],
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  const node = await outcomesOf('node', 'node:fs');
  const ours = await outcomesOf('ours', new URL('../../dist/fs.js', import.meta.url).href);
  expect(Object.keys(ours)).toEqual(Object.keys(node));
  const found: string[] = [];
  for (const [call, theirs] of Object.entries(node)) {
    const own = ours[call] as Outcome;
    const [form, name = ''] = call.split(': ');
    const isCode = form === 'sync' || otherWords.includes(name);
    const seen = ({ outcome, tree }: Outcome): unknown => ({
      outcome: isCode ? (outcome.code ?? 'ok') : outcome,
      tree,
    });
    if (JSON.stringify(seen(own)) === JSON.stringify(seen(theirs))) continue;
    const isKnown = different.includes(name) || (form === 'sync' && differentNow.includes(name));
    if (!isKnown) expect.soft(seen(own), call).toEqual(seen(theirs));
    found.push(name);
  }
  // The list is no longer than it has to be.
  expect([...different, ...differentNow].filter((name) => !found.includes(name))).toEqual([]);
});
