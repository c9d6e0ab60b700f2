// Runs random calls of Node's fs.cp and of fastcp/fs, or of fs-extra's copy and of fastcp/fs-extra, from the same state of
// the same paths, and prints the outcomes as JSON: random-cases.mjs BASE OURS THEIRS FIRST LAST. Plain JavaScript: it is
// run by every Node that is compared.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import path from 'node:path';
import { randomNumbers } from '../../../scripts/random.mjs';

const [, , base, oursFile, theirsFile, first, last] = process.argv;
const own = await import(oursFile);
const isNode = theirsFile === 'node:fs';
const other = isNode ? fs : (await import(theirsFile)).default;
const copiers = isNode
  ? { theirs: other.promises.cp, asynchronous: own.promises.cp, synchronous: own.cpSync }
  : { theirs: other.copy, asynchronous: own.copy, synchronous: own.copySync };
// Each call has a directory of its own, because fs-extra goes on in the background after an error. It is shown as /B/W.
let calls = 0;
let work;
let src;
let dest;

function randomOf(seed) {
  const next = randomNumbers(seed);
  const pick = (list) => list[Math.floor(next() * list.length)];
  return { pick, maybe: (chance) => next() < chance };
}

const names = ['a', 'b', 'c'];
// Node 20 and root alone differ here: the one does not preserve owners, the other may set them.
const setsOwners = process.getuid() === 0 && Number.parseInt(process.versions.node, 10) >= 22;

function makeTree(root, { pick, maybe }, depth = 0) {
  fs.mkdirSync(root, { recursive: true });
  for (const name of names) {
    const at = path.join(root, name);
    const kind = pick(['none', 'file', 'file', 'directory', 'link', 'link', 'link']);
    if (kind === 'file') makeFile(at, pick(['x', 'longer']), pick([0o644, 0o755]));
    if (kind === 'directory' && depth < 2) makeTree(at, { pick, maybe }, depth + 1);
    if (kind === 'link') makeLink(at, { pick, maybe });
  }
}

function makeFile(at, content, mode) {
  fs.writeFileSync(at, content, { mode });
  if (!setsOwners || content !== 'longer') return;
  fs.chownSync(at, 1, 2);
  if (mode === 0o755) fs.chmodSync(at, 0o6755); // the owner has changed, which removed these bits
}

function makeLink(at, { pick }) {
  const inner = path.join(pick(names), pick(names));
  const targets = ['.', '..', '../b', 'nowhere', inner, ...names, '../../outside/file'];
  targets.push(path.join(work, 'outside'), path.join(work, 'outside/file'), '/no/where');
  targets.push(src, dest, path.join(src, inner), path.join(dest, inner));
  fs.symlinkSync(pick(targets), at);
}

/** Changes what some links of SRC say. */
function changeLinks(root, random) {
  for (const entry of fs.readdirSync(root, { withFileTypes: true })) {
    const at = path.join(root, entry.name);
    if (entry.isDirectory()) changeLinks(at, random);
    if (entry.isSymbolicLink() && random.maybe(0.5)) {
      fs.unlinkSync(at);
      makeLink(at, random);
    }
  }
}

async function prepare(seed) {
  work = path.join(base, `${calls++}`.padStart(8, '0'));
  src = path.join(work, 'src');
  dest = path.join(work, 'dest');
  fs.mkdirSync(path.join(work, 'outside'), { recursive: true });
  fs.writeFileSync(path.join(work, 'outside/file'), 'outside');
  const random = randomOf(seed);
  const { pick, maybe } = random;
  makeTree(src, random);
  const options = { recursive: maybe(0.97), force: maybe(0.8), errorOnExist: maybe(0.3) };
  // In a loop fs-extra goes on in the background after its error, until there is no free descriptor.
  if (maybe(0.2) && isNode) options.dereference = true;
  else options.verbatimSymlinks = maybe(0.5);
  if (maybe(0.2)) options.filter = (from) => !from.endsWith('/c');
  const state = pick(['none', 'again', 'changed', 'other']);
  if (state === 'other') makeTree(dest, random);
  if (state === 'again' || state === 'changed') {
    // By neither: what a whole copy looks like, whatever either makes of it.
    copyPlainly(src, dest, options.verbatimSymlinks || !isNode);
    if (state === 'changed') changeLinks(src, random);
  }
  return { options, state };
}

function copyPlainly(from, to, verbatim) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [a, b] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) copyPlainly(a, b, verbatim);
    else if (entry.isFile()) fs.copyFileSync(a, b);
    else fs.symlinkSync(verbatim ? fs.readlinkSync(a) : path.resolve(from, fs.readlinkSync(a)), b);
  }
}

function snapshot(root, below = '', found = {}) {
  const at = path.join(root, below);
  if (at.length > 4000) return Object.assign(found, { [below]: 'too deep' });
  const stat = fs.lstatSync(at, { throwIfNoEntry: false });
  if (!stat) return found;
  const owner = stat.uid === process.getuid() ? '' : `${stat.uid}:${stat.gid} `;
  const mode = `${owner}${(stat.mode & 0o7777).toString(8)}`;
  if (stat.isSymbolicLink()) found[below] = `link ${fs.readlinkSync(at)}`;
  else if (stat.isFile()) found[below] = `file ${mode} ${fs.readFileSync(at, 'utf8')}`;
  else {
    found[below] = `directory ${mode}`;
    for (const name of fs.readdirSync(at)) snapshot(root, path.join(below, name), found);
  }
  return found;
}

/** Returns whether an entry is `only`, in it, or on the way to it. */
const isWithin = (only, below) =>
  below === '' || `${only}/`.startsWith(`${below}/`) || below.startsWith(`${only}/`);

/**
 * The entry that an error names: by its paths, or as fs-extra does in its message, which has the targets of both
 * symlinks if the entry is one.
 */
function entryOf({ path: from, dest: to, message }, before) {
  const quoted = [...message.matchAll(/'([^']+)'/g)].map(([, one]) => one);
  const targets = quoted.map((one) => `link ${one}`);
  const symlink = Object.keys(before.src).find((at) => {
    const [one, other] = [before.src[at], before.dest[at]];
    return one !== other && targets.includes(one) && targets.includes(other);
  });
  if (symlink) return symlink;
  for (const root of [dest, src]) {
    const at = [to, from, ...quoted].find((one) => one === root || one?.startsWith(`${root}/`));
    if (at) return path.relative(root, at);
  }
  return from && path.relative(src, from);
}

/** Copies all of SRC, or only the entry `only`. */
async function outcome(seed, copy, only) {
  const { options, state } = await prepare(seed);
  const before = { src: snapshot(src), dest: snapshot(dest) };
  const { filter, force, recursive, verbatimSymlinks, ...rest } = options;
  const passed = isNode ? options : { ...rest, overwrite: force, ...(filter && { filter }) };
  if (only !== undefined) {
    passed.filter = (from) => (filter?.(from) ?? true) && isWithin(only, path.relative(src, from));
  }
  let code = 'ok';
  let failed;
  try {
    await copy(src, dest, passed);
  } catch (error) {
    code = error.code ?? `${error.message}`;
    failed = entryOf(error, before);
  }
  const shown = { ...rest, force, recursive, verbatimSymlinks };
  const given = { seed, state, options: { ...shown, filtered: filter !== undefined }, before };
  const outside = snapshot(path.join(work, 'outside'));
  const after = { src: snapshot(src), tree: snapshot(dest), outside };
  const all = { given, code, failed, ...after };
  return JSON.parse(JSON.stringify(all).replaceAll(work, '/B/W').replaceAll(base, '/B'));
}

const results = [];
for (let seed = Number(first); seed < Number(last); seed++) {
  const outcomes = {};
  let call;
  for (const [name, copy] of Object.entries(copiers)) {
    const { given, ...one } = await outcome(seed, async (...args) => copy(...args));
    call = given;
    outcomes[name] = one;
  }
  const { theirs, asynchronous: ours } = outcomes;
  if (theirs.code !== ours.code && ![theirs.code, ours.code].includes('ok')) {
    // Which error is the first is a matter of order. But each has the other's for the other's entry.
    const alone = async (copy, { failed }) => {
      if (failed === undefined) return undefined;
      const { given, ...one } = await outcome(seed, async (...args) => copy(...args), failed);
      return one;
    };
    outcomes.theirsAlone = await alone(copiers.theirs, ours);
    outcomes.oursAlone = await alone(copiers.asynchronous, theirs);
  }
  results.push({ ...call, src: '/B/W/src', ...outcomes });
}
// Node's own copy of a loop can be too deep for Node's own rm.
execFileSync('rm', ['-rf', base]);
fs.writeSync(1, JSON.stringify(results));
