// Tests the tests: mutants.mjs [--list | --check] [--sample N/M] [--seed S] [--jobs N] [--work DIR] [--only] [ID…]
//
// A mutant is a bug that somebody could write: test/mutants/*.json holds them, by area, each as
//
//   id       its name
//   file     the source file that it changes
//   before   text that occurs exactly once in that file
//   after    the text that replaces it: the bug
//   tests    the test file that must fail then
//   name     optional: part of the name of the tests in it that run
//   promise  optional: "DOCUMENT: words in it" that the bug breaks
//
// Each job copies the tree into a temporary directory, builds it there, and runs the tests that the mutants name. All
// must pass. Then it applies one mutant at a time, builds, and runs that mutant's tests. A mutant is noticed if a test
// fails, or if the tests take much longer than before. Tests that failed once without a mutant must fail as often with
// it. A mutant that no input can tell from the original does not belong in the list.
//
// --check only looks whether the list fits the sources; test/mutants/mutants.test.ts does the same. --sample 1/10 takes
// a tenth at random, the same one for the same --seed. With --work the copies stay in DIR, and a later run builds there
// only what has changed.
//
// Each test run has its own mounts, /tmp and /dev/shm, and can write nowhere else, because a mutant may do what fastcp
// must never do. That takes root, on Linux. Still, no mutant may let a test empty the root directory or a home directory.
//
// Exit code: 0 if every mutant was noticed, 1 if one survived, 2 if the list is wrong or tests fail without a mutant.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomNumbers } from './random.mjs';
import { addMissingTools } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const lists = join(root, 'test/mutants');
const { values: options, positionals: ids } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean' },
    check: { type: 'boolean' },
    only: { type: 'boolean' }, // the IDs follow
    sample: { type: 'string', default: '1/1' },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 32)}` },
    work: { type: 'string' },
    jobs: { type: 'string', default: `${Math.min(2, availableParallelism())}` },
  },
});

/**
 * How often tests run. Without a mutant they must pass once, and with it fail once. If they passed only in a later run, they must fail
 * in as many runs.
 */
const MOST_RUNS = 3;
const NATIVE = ['cmake', '--build', 'build'];
const TYPESCRIPT = ['node_modules/.bin/tsdown'];
/** Of each tree: builds that still have a mutant, which is gone from the sources. */
const stale = new Map();
/** Running commands, each the leader of its own process group. */
const running = new Set();
let stopped = false;
const isolation = options.check || options.list ? [] : findIsolation();

process.exitCode = await main();

async function main() {
  const mutants = readLists();
  const mistakes = mutants.flatMap(findMistakes);
  for (const id of ids) {
    if (!mutants.some((mutant) => mutant.id === id)) mistakes.push(`${id}: no such mutant`);
  }
  if (mistakes.length > 0) {
    console.error(mistakes.join('\n'));
    return 2;
  }
  if (options.check) return 0;
  const chosen = choose(mutants);
  if (options.list) {
    printTable(chosen.map((mutant) => [mutant.id, place(mutant), selection(mutant)]));
    return 0;
  }
  if (isolation.length === 0) {
    console.error('mutants are tested as root on Linux only, where they can do no harm');
    return 2;
  }
  await addMissingTools();
  const work = options.work ?? mkdtempSync(join(tmpdir(), 'fastcp-mutants-'));
  mkdirSync(work, { recursive: true });
  chmodSync(work, 0o755); // some tests run as another user
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
  try {
    return await runAll(chosen, work);
  } catch (error) {
    console.error(stopped ? 'interrupted' : error.message);
    return 2;
  } finally {
    if (!options.work) rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function runAll(mutants, work) {
  console.log(`${mutants.length} mutants, seed ${options.seed}`);
  const trees = Array.from({ length: Number(options.jobs) }, (_, i) => join(work, `${i}`));
  await Promise.all(trees.map(prepare));

  /** Of each selection of tests: how long it takes, and how often it had to run to pass. */
  const known = new Map();
  const first = new Map(mutants.map((mutant) => [selection(mutant), mutant]));
  await share([...first], trees, async ([key, mutant], tree) => {
    for (let runs = 1; runs <= MOST_RUNS; runs++) {
      const { outcome, by, output, seconds } = await runTests(tree, mutant, 600);
      if (outcome === 'survived') known.set(key, { runs, seconds });
      if (outcome === 'survived') return console.log(`passes without a mutant: ${key}`);
      console.log(`fails without a mutant: ${key}: ${by}\n${output ?? ''}`);
    }
  });

  const rows = [];
  // By file: what the next mutant of a file changes is compiled with what is put back.
  const inOrder = [...mutants].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
  await share(inOrder, trees, async (mutant, tree) => {
    const passed = known.get(selection(mutant));
    const { outcome, by, seconds } = passed
      ? await tryMutant(tree, mutant, passed)
      : { outcome: 'tests fail', by: 'without the mutant, too', seconds: 0 };
    rows.push([mutant.id, place(mutant), outcome, by, seconds.toFixed(1)]);
    console.log(`${mutant.id}: ${outcome}`);
  });
  printTable(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
  const number = (outcome) => rows.filter((row) => row[2] === outcome).length;
  const noticed = number('noticed') + number('timeout');
  console.log(`${noticed} of ${rows.length} mutants were noticed`);
  if (number('does not build') + number('tests fail') > 0) return 2;
  return noticed === rows.length ? 0 : 1;
}

// --- the list ---------------------------------------------------------------------------------

function readLists() {
  return readdirSync(lists)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(join(lists, name), 'utf8')));
}

function findMistakes({ id, file, before, after, tests, name, promise, ...rest }, index, all) {
  const found = [];
  const say = (what) => found.push(`${id}: ${what}`);
  const unknown = Object.keys(rest);
  if (unknown.length > 0) say(`unknown field ${unknown.join(', ')}`);
  if (all.findIndex((one) => one.id === id) !== index) say('another mutant has the same id');
  const count = read(file).split(before).length - 1;
  if (count !== 1) say(`its text occurs ${count} times in ${file}`);
  if (before === after) say('it changes nothing');
  const text = read(tests);
  if (text === '') say(`there is no ${tests}`);
  if (name !== undefined && name === '') say('its name is empty');
  if (promise !== undefined) {
    const [document, ...words] = promise.split(': ');
    const flat = (some) => some.replace(/\s+/g, ' ');
    if (!flat(read(document)).includes(words.join(': '))) say(`${document} promises no such thing`);
  }
  return found;
}

/** Empty if there is no such file. */
function read(file) {
  return existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '';
}

function choose(mutants) {
  if (ids.length > 0) return mutants.filter(({ id }) => ids.includes(id));
  const [part, whole] = options.sample.split('/').map(Number);
  const next = randomNumbers(Number(options.seed));
  const shuffled = mutants.map((mutant) => [next(), mutant]).sort(([a], [b]) => a - b);
  const size = Math.ceil((mutants.length * part) / whole);
  return shuffled.slice(0, size).map(([, mutant]) => mutant);
}

/** `file:line` of the first character that the mutant changes. */
function place({ file, before, after }) {
  const text = read(file);
  let at = text.indexOf(before);
  for (let i = 0; i < before.length && before[i] === after[i]; i++) at++;
  return `${file}:${text.slice(0, at).split('\n').length}`;
}

function selection({ tests, name }) {
  return name === undefined ? tests : `${tests} -t '${name}'`;
}

// --- trees ------------------------------------------------------------------------------------

/** Copies all files but those that git ignores, and builds. What is there already need not be built again. */
async function prepare(tree) {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  for (const file of stdout.split('\0').filter((name) => name && existsSync(join(root, name)))) {
    const [from, to] = [join(root, file), join(tree, file)];
    if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) continue;
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
  }
  // Not the directory itself: vitest writes into it.
  const modules = join(tree, 'node_modules');
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name.startsWith('.vite')) continue;
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  // A mutant changes one file, so the others are not optimized together with it.
  const configure = ['node_modules/.bin/cmake-js', 'configure', '--CDFASTCP_LTO=OFF'];
  const compile = ['node_modules/.bin/cmake-js', 'compile'];
  for (const command of [configure, compile, TYPESCRIPT]) {
    const { status, output } = await run(tree, command, 600);
    if (status !== 0) throw new Error(`the build failed:\n${output}`);
  }
}

async function tryMutant(tree, mutant, passed) {
  const file = join(tree, mutant.file);
  const text = readFileSync(file, 'utf8');
  const builds = new Set(stale.get(tree));
  if (mutant.file.startsWith('binding/')) builds.add(NATIVE);
  if (/^(lib|bin)\//.test(mutant.file)) builds.add(TYPESCRIPT);
  stale.set(tree, builds);
  writeFileSync(
    file,
    text.replace(mutant.before, () => mutant.after),
  );
  try {
    for (const build of builds) {
      const { status, output, seconds } = await run(tree, build, 600);
      if (status !== 0) return { outcome: 'does not build', by: firstError(output), seconds };
    }
    stale.set(tree, builds.has(NATIVE) && mutant.file.startsWith('binding/') ? [NATIVE] : []);
    if (/^(lib|bin)\//.test(mutant.file)) stale.set(tree, [TYPESCRIPT]);
    const limit = 30 + 3 * passed.seconds;
    let result = await runTests(tree, mutant, limit);
    // Tests that failed without a mutant, too, must fail each time.
    for (let runs = 1; runs < passed.runs && result.outcome !== 'survived'; runs++) {
      result = await runTests(tree, mutant, limit);
    }
    // A test that needs a certain moment, or a random tree, may need more than one run.
    for (
      let runs = 1;
      passed.runs === 1 && runs < MOST_RUNS && result.outcome === 'survived';
      runs++
    ) {
      result = await runTests(tree, mutant, limit);
    }
    return result;
  } finally {
    writeFileSync(file, text);
  }
}

function firstError(output) {
  return output.split('\n').find((line) => /error/i.test(line)) ?? '';
}

/** `by` names the first test that failed. */
async function runTests(tree, { tests, name }, limit) {
  const results = join(tree, 'build/mutant.json');
  rmSync(results, { force: true });
  const vitest = ['node_modules/.bin/vitest', 'run', tests, '--bail=1', '--reporter=json'];
  const pattern = name?.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const command = [...vitest, `--outputFile=${results}`, ...(pattern ? ['-t', pattern] : [])];
  const { status, output, seconds } = await run(tree, [...isolation, ...command], limit);
  if (status === undefined) return { outcome: 'timeout', by: `${limit.toFixed(0)} s`, seconds };
  let found;
  try {
    found = JSON.parse(readFileSync(results, 'utf8'));
  } catch {
    return { outcome: 'noticed', by: `the run ended with ${status}`, output, seconds };
  }
  const all = found.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = all.find((test) => test.status === 'failed');
  if (failed) return { outcome: 'noticed', by: failed.fullName, seconds };
  if (status !== 0)
    return { outcome: 'noticed', by: `the run ended with ${status}`, output, seconds };
  if (found.numPassedTests === 0) return { outcome: 'no tests', by: 'no test ran', seconds };
  return { outcome: 'survived', by: '', seconds };
}

// --- processes --------------------------------------------------------------------------------

/** Calls `use(item, tree)` for each item; each tree has one item at a time. */
async function share(items, trees, use) {
  const left = [...items];
  await Promise.all(
    trees.map(async (tree) => {
      for (let item = left.shift(); item !== undefined && !stopped; item = left.shift()) {
        await use(item, tree);
      }
    }),
  );
  if (stopped) throw new Error('interrupted');
}

/**
 * A command that runs another one, given as its arguments, where mounts, processes and files in /tmp and /dev/shm end
 * with it, and all else but the tree that it is started in is read-only: what a mutant lets happen stays there. Empty if
 * there are no namespaces.
 */
function findIsolation() {
  // $0 is the root of the sources, which may lie in /tmp as well.
  const script = `set -e
    mount --bind "$PWD" /mnt
    mount --bind "$0" /media
    for place in /tmp /dev/shm; do mount -t tmpfs -o size=80% tmpfs $place; done
    mkdir -p "$PWD" "$0"
    mount --move /media "$0"
    mount --move /mnt "$PWD"
    mount -o remount,bind,ro "$0"
    mount -o remount,bind,ro /
    cd "$PWD"
    set +e
    "$@"
    exit $?`;
  const flags = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const { status } = spawnSync('unshare', [...flags, 'true']);
  const words = ['unshare', ...flags, 'sh', '-c', script, root];
  return status === 0 ? words : [];
}

/** `status` is undefined if the command took longer than `limit` seconds. */
function run(cwd, [file, ...args], limit) {
  const began = Date.now();
  const env = { ...process.env, CI: 'true', FORCE_COLOR: '0' };
  const child = spawn(file, args, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece) => {
      output = (output + piece).slice(-100_000);
    });
  }
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    kill(child);
  }, limit * 1000);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      running.delete(child);
      const status = late ? undefined : (code ?? signal);
      resolve({ status, output, seconds: (Date.now() - began) / 1000 });
    });
  });
}

function kill(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {} // it has ended
}

function stop() {
  stopped = true;
  for (const child of running) kill(child);
}

function printTable(rows) {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
  }
}
