import { expect, test } from 'vitest';
import { run } from '../support/child.js';
import { needRoot, skip, workDirectory } from '../support/work.js';
import { newest } from './support/nodes.js';

// One call after the other by the newest Node and by ours: tree, all fields of the error, and what a callback is passed.

const work = workDirectory('calls');

interface Outcome {
  outcome: { code?: string; message?: string; printed?: string[]; info?: object };
  tree: Record<string, string>;
}
type Outcomes = Record<string, Outcome>;

/** What Node does and what we do, by call: the code, and what DEST `b` is then. docs/fs.md has the reasons. */
type Differences = Record<string, [theirs: string, ours: string]>;

/** Of all forms. */
const different: Differences = {
  // a second copy of the same symlink
  'link dangling again': ['ENOENT, b -> W/x', 'ok, b -> W/x'],
  'link to dir again': ['ERR_FS_CP_EINVAL, b -> t', 'ok, b -> W/t'],
  // force: false keeps symlinks
  'link no force': ['ok, b -> W/t', 'ok, b -> u'],
  'link no force errorOnExist': ['ok, b -> W/t', 'ERR_FS_CP_EEXIST, b -> u'],
  // the same errors as copyTree()'s
  'parent is a dangling symlink': ['ENOENT, b -> nope', 'ERR_FS_CP_DIR_TO_NON_DIR, b -> nope'],
  'parent of the parent is a dangling symlink': ['ENOTDIR, b -> nope', 'EEXIST, b -> nope'],
  'deref dir onto a link to nothing': [
    'EEXIST, b -> nowhere',
    'ERR_FS_CP_DIR_TO_NON_DIR, b -> nowhere',
  ],
  // FIFOs, devices and sockets of DEST are not replaced
  'onto fifo': ['ok, b file x', 'ERR_FASTCP_DEST_IS_SPECIAL, b special'],
};
/** Of cp and promises.cp: Node 26 refuses it in a new directory only. */
const differentLater: Differences = {
  'dev null within': ['ERR_FS_CP_UNKNOWN, b directory', 'ok, b directory, b/n file '],
};
/** Of cpSync(): Node's follows symlinks for some checks, and skips what is special. */
const differentNow: Differences = {
  'fifo within': ['ok, b directory', 'ERR_FS_CP_FIFO_PIPE, b directory'],
  'dev null within': ['ok, b directory', 'ok, b directory, b/n file '],
  'dev null onto file within': ['ok, b directory, b/n file y', 'ok, b directory, b/n file '],
  'fifo onto dir within': [
    'ok, b directory, b/f directory',
    'ERR_FS_CP_NON_DIR_TO_DIR, b directory, b/f directory',
  ],
  'parent of the parent is a dangling symlink': ['ENOENT, b -> nope', 'EEXIST, b -> nope'],
  'link onto file': ['ENOENT, b file y', 'EEXIST, b file y'],
  'link onto file no force': ['ENOENT, b file y', 'EEXIST, b file y'],
  'link onto file, verbatim': ['ENOENT, b file y', 'EEXIST, b file y'],
  'link to a directory above, verbatim': ['ERR_FS_CP_DIR_TO_NON_DIR, b -> t/u', 'ok, b -> t'],
  'link to dir above': ['ERR_FS_CP_DIR_TO_NON_DIR, b -> t/u', 'ERR_FS_CP_EINVAL, b -> t/u'],
  'link to dir below': [
    'ERR_FS_CP_DIR_TO_NON_DIR, b -> t',
    'ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY, b -> t',
  ],
  'link to file again': ['ERR_FS_CP_EINVAL, b -> t', 'ok, b -> W/t'],
  'link to own target': ['ERR_FS_CP_EINVAL, b -> a', 'EEXIST, b -> a'],
  'deref same within': [
    'ERR_FS_CP_EEXIST, b directory, b/f -> ../a/f',
    'ERR_FS_CP_EINVAL, b directory, b/f -> ../a/f',
  ],
  'hard link same within': [
    'ERR_FS_CP_EEXIST, b directory, b/f file x',
    'ERR_FS_CP_EINVAL, b directory, b/f file x',
  ],
  'empty dest of dir': ['EINVAL', 'ENOENT'],
  'beside by dots': ['ERR_FS_CP_EINVAL', 'ok, b directory, b/f file x'],
  'beside by dots, new directories': ['ERR_FS_CP_EINVAL', 'ok, b directory, b/c directory'],
};
/** Only the message differs (which values a wrong argument has), or the call that an empty path reaches. */
const otherWords = ['nul', 'empty dest'];

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
  const found: Record<string, Differences> = { async: {}, callback: {}, sync: {} };
  for (const [call, theirs] of Object.entries(node)) {
    const own = ours[call] as Outcome;
    const [form = '', name = ''] = call.split(': ');
    const differ = inShort(theirs) !== inShort(own);
    if (differ) Object.assign(found[form] ?? {}, { [name]: [inShort(theirs), inShort(own)] });
    if (differ) continue;
    // cpSync()'s errors have other messages and paths than cp()'s.
    const isWhole = form !== 'sync' && !otherWords.includes(name);
    const shown = (one: Outcome): unknown => (isWhole ? wordless(one) : one.tree);
    expect.soft(shown(own), call).toEqual(shown(theirs));
  }
  const later = { ...different, ...differentLater };
  expect(found).toEqual({
    async: later,
    callback: later,
    sync: { ...different, ...differentNow },
  });
});

/** Leaves out the words of a refusal, which are fastcp's. */
function wordless({ outcome, tree }: Outcome): unknown {
  if (!outcome.code?.startsWith('ERR_FS_')) return { outcome, tree };
  const { message: _message, printed: _printed, info, ...facts } = outcome;
  return { outcome: { ...facts, info: { ...info, message: undefined } }, tree };
}

function inShort({ outcome, tree }: Outcome): string {
  const dest = Object.entries(tree).filter(([path]) => /^b(\/|$)/.test(path));
  return [outcome.code ?? 'ok', ...dest.map(([path, what]) => `${path} ${what}`)].join(', ');
}
