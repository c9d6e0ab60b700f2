// Looks for bugs that tests do not see: sanitize.mjs [--quick | --turns] [TEST…]
//
//   no sanitizer                                                     copies that take turns
//   AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer   these, the stress script (once with few file
//                                                                    descriptors), the behaviour tests
//   ThreadSanitizer                                                  these, the stress script (both)
//
// Copies that take turns (test/sanitize/turns.mjs) pause at locks at random. --turns runs nothing else, and of them
// 20,000 with each; --quick leaves out the behaviour tests; others may be named instead of them. The addon is built
// once for each into build/pauses, build/asan and build/tsan, with bugs planted in it that stay asleep until FASTCP_PLANTED wakes one: each must
// be found, or nothing found would mean nothing. FASTCP_PREBUILD is where node-gyp-build looks for the addon, so
// build/Release stays as it is.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildVariant, variantAt } from './build-variant.mjs';
import { addMissingTools } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const bin = (name) => join(root, 'node_modules/.bin', name);
const named = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const tests = named.length > 0 ? named : ['test/behaviour', 'test/fuzz/answers.test.ts'];
const quick = process.argv.includes('--quick');
const turnsOnly = process.argv.includes('--turns');
/** Copies that take turns, in all sizes of the pool together. */
const turns = turnsOnly ? 20_000 : 600;
const seconds = quick || named.length > 0 ? '10' : '60';
const STRESS = [process.execPath, 'test/sanitize/stress.mjs'];
/** Directories are closed and opened again all the time. */
const FEW_DESCRIPTORS = ['prlimit', '--nofile=128', ...STRESS];
const TURNS = [process.execPath, 'test/sanitize/turns.mjs'];
const TESTS = [bin('vitest'), 'run', '--config', 'test/sanitize/vitest.config.ts'];
/** How soon something comes is another matter here, and what is freed is kept for a while. */
const NOT_MEASURED = '^(?!.*(event loop turns|soon|nor memory))';

/** Their own look at a new thread's variables of a loaded library crashes now and then: seen in a core. */
const TLS = 'intercept_tls_get_addr=0';

const pauses = { name: 'pauses', option: '', bugs: [], env: () => ({}) };
const asan = {
  name: 'asan',
  option: 'address,undefined',
  library: 'libasan.so',
  bugs: ['heap-buffer-overflow', 'heap-use-after-free', 'signed-integer-overflow', 'leak'],
  // Leaks do not end a process: Node's own are no reason to.
  env: (log) => ({
    ASAN_OPTIONS: `log_path=${log}:abort_on_error=1:exitcode=0:detect_leaks=1:${TLS}`,
    UBSAN_OPTIONS: 'abort_on_error=1:print_stacktrace=1',
    FASTCP_LEAKS: join(root, 'build/asan/build/Release/leaks.node'),
  }),
};
const tsan = {
  name: 'tsan',
  option: 'thread',
  library: 'libtsan.so',
  bugs: ['data-race'],
  // It knows descriptors by their numbers, which mean something else in each table.
  env: (log) => ({ TSAN_OPTIONS: `log_path=${log}:exitcode=0:${TLS}`, FASTCP_SHARED_TABLE: '1' }),
};

if (await addMissingTools())
  fail('g++ is needed here: Zig comes without the libraries of the sanitizers');
for (const sanitizer of [pauses, asan, tsan]) {
  build(sanitizer);
  for (const pool of [1, 2, 4]) {
    const env = { FASTCP_PAUSES: '64', UV_THREADPOOL_SIZE: `${pool}` };
    await mustBeClean(sanitizer, [...TURNS, `${Math.ceil(turns / 3)}`], env);
  }
  if (turnsOnly || sanitizer === pauses) continue;
  for (const bug of sanitizer.bugs) await mustFind(sanitizer, bug, [...STRESS, '0']);
  await mustBeClean(sanitizer, [...STRESS, seconds]);
  await mustBeClean(sanitizer, [...FEW_DESCRIPTORS, seconds]);
}
if (!quick && !turnsOnly) {
  await mustFind(asan, 'leak', [...TESTS, 'test/behaviour/verify.test.ts']);
  await mustBeClean(asan, [...TESTS, ...tests, '-t', NOT_MEASURED]);
}

function build({ name, option }) {
  const plant = option === '' ? 'OFF' : 'ON';
  const options = [`FASTCP_SANITIZE=${option}`, `FASTCP_PLANT=${plant}`, 'FASTCP_PAUSES=ON'];
  buildVariant(name, options);
}

async function mustFind(sanitizer, bug, command) {
  const name = new RegExp(bug.replaceAll('-', '[- ]'));
  // A race needs two threads that meet, which a busy machine may prevent.
  for (let tries = 0; tries < 3; tries++) {
    const { reports } = await run(sanitizer, command, { FASTCP_PLANTED: bug });
    if (!reports.some((text) => name.test(text) && text.includes('planted.cc'))) continue;
    console.log(`${sanitizer.name}: the planted ${bug} was found`);
    return;
  }
  fail(`${sanitizer.name}: the planted ${bug} was not found`);
}

async function mustBeClean(sanitizer, command, env = {}) {
  const began = Date.now();
  for (let tries = 1; ; tries++) {
    const { ended, reports, logs } = await run(sanitizer, command, env, process.stdout);
    if (reports.length > 0) fail(reports.join('\n\n'));
    if (ended === 0) break;
    // It looks at threads of Node's that end meanwhile, and then says nothing about leaks: 5 of 1,000 runs.
    if (tries < 3 && /LeakSanitizer has encountered a fatal error/.test(logs)) continue;
    fail(`${sanitizer.name}: ${command.join(' ')} ended with ${ended}\n${logs.slice(0, 3000)}`);
  }
  console.log(`${sanitizer.name}: nothing found, ${Math.round((Date.now() - began) / 1000)} s`);
}

/** Runs a command with the addon built for this sanitizer; what was found about the addon, in all processes. */
async function run({ name, library, env }, [file, ...args], more, show) {
  const logs = join(root, 'build', name, 'reports');
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });
  // What is ended by a bug does not clear up.
  const scratch = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'fastcp-'));
  const find = [`-print-file-name=${library}`];
  const preload = library && execFileSync('g++', find, { encoding: 'utf8' }).trim();
  const child = spawn(file, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...env(join(logs, 'report')),
      ...(preload && { LD_PRELOAD: preload }),
      FASTCP_PREBUILD: variantAt(name),
      UV_THREADPOOL_SIZE: '8',
      TMPDIR: scratch,
      ...more,
    },
  });
  // One of them writes to no log.
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece) => {
      output += piece;
      show?.write(piece);
    });
  }
  const [status, signal] = await once(child, 'close');
  rmSync(scratch, { recursive: true, force: true });
  const texts = readdirSync(logs).map((log) => readFileSync(join(logs, log), 'utf8'));
  const reports = [...texts, output].flatMap(reportsIn).filter(isOurs);
  return { ended: status ?? signal, reports, logs: texts.join('\n') };
}

/** A log has any number of them, one after the other. */
function reportsIn(log) {
  return log.split(/^=+$|(?=^(?:Direct|Indirect) leak)/m);
}

/** Node has leaks and races, or what looks like them, of its own. */
function isOurs(report) {
  if (/^(Direct|Indirect) leak/.test(report)) return isOurStack(report);
  if (!report.includes('WARNING: ThreadSanitizer')) {
    return /ERROR: AddressSanitizer|runtime error: /.test(report);
  }
  // It does not know openat(), and takes a descriptor's uses one after the other for a race.
  if (report.includes('Location is file descriptor')) return false;
  const [accesses = ''] = report.split(/^ {2}(?:Location|Mutex|Thread|As if|SUMMARY)/m);
  return accesses.split('\n\n').some(isOurStack);
}

/** What called the first function that is not a library's is the addon. */
function isOurStack(text) {
  const frames = text.split('\n').filter((line) => /^ +#\d/.test(line));
  const libraries = /libsanitizer|lib[at]san|libstdc\+\+|\/include\/c\+\+\/|napi/;
  const caller = frames.find((frame) => !libraries.test(frame));
  return /fastcp\.node|binding\/src|test\/sanitize/.test(caller ?? '');
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
