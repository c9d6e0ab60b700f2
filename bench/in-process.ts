// A process of its own that calls one function: node bench-in-process.mjs API SRC DEST [COPIES]
// With COPIES, each copy goes to a new directory in DEST and the median counts. Prints one line of JSON.
import { cpSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Bench } from 'tinybench';
import type { copyTree } from '../lib/index.js';
import { peers, root } from './paths.js';

type Copy = (src: string, dest: string) => unknown;

const peer = async (name: string): Promise<Record<string, unknown>> =>
  import(pathToFileURL(join(peers, name)).href);

const apis: Record<string, () => Promise<Copy>> = {
  fastcp: async () => {
    const library = await import(pathToFileURL(join(root, 'dist/index.js')).href);
    return library.copyTree as typeof copyTree;
  },
  'fs.promises.cp': async () => (src, dest) => cp(src, dest, { recursive: true }),
  'fs.cpSync': async () => (src, dest) => cpSync(src, dest, { recursive: true }),
  'fs-extra': async () => createRequire(import.meta.url)(join(peers, 'fs-extra')).copy as Copy,
  cpy: async () => {
    const copy = (await peer('cpy/index.js')).default as (...args: unknown[]) => unknown;
    // It fails at the first symlink, so it gets none: they are in directories of this name.
    return (src, dest) => copy(['**', '!**/.bin/**'], dest, { cwd: src, dot: true });
  },
  'fs-safe': async () => {
    const { copyTree: copy } = await peer('@openclaw/fs-safe/dist/copy.js');
    // One file at a time by default: this is what suits it best.
    const concurrency = Math.max(16, availableParallelism());
    return (src, dest) => (copy as (...args: unknown[]) => unknown)(src, dest, { concurrency });
  },
};

const [api = '', src = '', dest = '', copies] = process.argv.slice(2);
const copy = await apis[api]?.();
if (!copy) throw new Error(`there is no function '${api}': ${Object.keys(apis).join(', ')}`);

const iterations = Number(copies ?? 1);
const warmupIterations = copies === undefined ? 0 : Math.min(5, iterations);
if (copies !== undefined) await mkdir(dest);
const bench = new Bench({
  iterations,
  warmupIterations,
  warmup: warmupIterations > 0,
  time: 0,
  warmupTime: 0,
  throws: true,
});
let made = 0;
let target = dest;
let result: unknown;
bench.add(
  api,
  async () => {
    result = await copy(src, target);
  },
  {
    async: true,
    beforeEach: () => {
      if (copies !== undefined) target = join(dest, String(made++));
    },
  },
);
const [task] = await bench.run();
const outcome = task?.result;
if (outcome?.state !== 'completed') throw new Error(`${api} did not complete`);
const { durationMs } = (result ?? {}) as { durationMs?: number };
const report = { inProcessMs: outcome.latency.p50, durationMs, copies: made || undefined };
process.stdout.write(`${JSON.stringify(report)}\n`);
