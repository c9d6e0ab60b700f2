import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyEvent, CopyJob, CopyOptions, CopyResult, EntryEvent } from '../../lib/types.js';
import { makeBigTree, median, strangersIn, walk, workDirectory } from '../support/big-tree.js';
import { slowness } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

const FILES = 20_000;

const cwd = workDirectory();
const src = join(cwd, 'src');
const small = join(cwd, 'small');
let made = 0;
let dest: string;

beforeAll(() => {
  makeBigTree(src, FILES);
  makeBigTree(small, 500);
});
beforeEach(() => {
  dest = join(cwd, `dest-${made++}`);
});

const isEntry = (event: CopyEvent): event is EntryEvent => event.type === 'entry';

const stop = (abort: AbortController): boolean => {
  abort.abort('stop');
  return true;
};

describe('for await', () => {
  test('brings progress, and at the end all of it', async () => {
    const job = copyTree(src, dest);
    const events: CopyEvent[] = [];
    for await (const event of job) events.push(event);
    const result = await job;
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['progress']));
    expect(events.length).toBeGreaterThan(1);
    const files = events.map((event) => (event.type === 'progress' ? event.files : 0));
    expect(files).toEqual([...files].sort((a, b) => a - b));
    const { files: all, directories, symlinks, bytes, scanned } = result;
    expect(events.at(-1)).toMatchObject({ files: all, directories, symlinks, bytes, scanned });
    expect(all).toBe(FILES);
  });

  test('brings an event for every entry, each once', async () => {
    const job = copyTree(src, dest, { entries: true });
    const entries: EntryEvent[] = [];
    for await (const event of job) if (isEntry(event)) entries.push(event);
    await job;
    const expected = ['', ...walk(src)].map((path) => join(src, path)).sort();
    expect(entries.map(({ path }) => path).sort()).toEqual(expected);
    const made = ['', ...walk(dest)].map((path) => join(dest, path)).sort();
    expect(entries.map((entry) => entry.dest).sort()).toEqual(made);
    for (const { kind, action } of entries)
      expect(action).toBe(kind === 'directory' ? 'create' : 'copy');
    const { files, directories, symlinks } = job.result;
    const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
    expect([count('file'), count('directory'), count('symlink')]).toEqual([
      files,
      directories,
      symlinks,
    ]);
  });

  test('a directory comes before what is in it', async () => {
    const job = copyTree(src, dest, { entries: true });
    const seen = new Set<string>([cwd]);
    for await (const event of job) {
      if (!isEntry(event)) continue;
      expect(seen).toContain(join(event.path, '..'));
      seen.add(event.path);
    }
  });

  test('says what became of entries that were there', async () => {
    await copyTree(small, dest);
    const actions = async (force: boolean) => {
      const found = new Set<string>();
      for await (const event of copyTree(small, dest, { entries: true, force })) {
        if (isEntry(event)) found.add(`${event.kind} ${event.action}`);
      }
      return found;
    };
    expect(await actions(true)).toEqual(new Set(['file replace', 'symlink replace']));
    expect(await actions(false)).toEqual(new Set(['file skip', 'symlink skip']));
  });

  test('brings the same of a dry run', async () => {
    const job = copyTree(small, dest, { entries: true, dryRun: true });
    let entries = 0;
    for await (const event of job) if (isEntry(event)) entries++;
    expect(entries).toBe(walk(small).length + 1);
    expect(walk(dest)).toEqual([]);
  });

  test('brings warnings', async () => {
    const job = copyTree(small, dest, { exclude: '*.none,*.other' });
    const warnings: CopyEvent[] = [];
    for await (const event of job) if (event.type === 'warning') warnings.push(event);
    expect(warnings).toMatchObject([{ warning: { code: 'EXCLUDE_UNMATCHED' } }]);
    expect((await job).warnings).toEqual(
      warnings.map((event) => 'warning' in event && event.warning),
    );
  });

  test('may begin after the end: without `entries` nothing comes, and it ends', async () => {
    const job = copyTree(small, dest);
    await job;
    const events: CopyEvent[] = [];
    for await (const event of job) events.push(event);
    expect(events).toEqual([]);
  });

  test('of entries may begin after the end: few were kept', async () => {
    const job = copyTree(small, dest, { entries: true });
    const { warnings } = await job;
    let entries = 0;
    for await (const event of job) if (isEntry(event)) entries++;
    expect(entries).toBe(walk(small).length + 1);
    expect(warnings).toEqual([]);
  });

  test('of entries may begin late: those that were not kept are counted', async () => {
    const job = copyTree(src, dest, { entries: true });
    while (job.result.files < 2000) await sleep(1);
    let entries = 0;
    for await (const event of job) if (isEntry(event)) entries++;
    const { files, warnings } = await job;
    expect(files).toBe(FILES);
    expect(warnings).toMatchObject([{ code: 'ENTRIES_DROPPED' }]);
    expect(entries).toBeGreaterThan(1000);
    expect(entries + (warnings[0]?.count ?? 0)).toBe(walk(src).length + 1);
  });

  test('of entries that begins after the copy failed throws what nobody awaited', async () => {
    const code = `
      process.on('unhandledRejection', (error) => answer(error.code));
      const job = copyTree(given.src, given.dest, { entries: true });
      await sleep(1000);
      try { for await (const event of job); } catch (error) { process.exitCode = error.errno; }`;
    const ended = await runChild(nodes[0]?.path ?? '', code, { src: join(cwd, 'missing'), dest });
    expect(ended).toMatchObject({ answer: 'ENOENT', exitCode: 256 - 2 });
  });

  test('an error, its result and the result of its job can be written as JSON', async () => {
    const job = copyTree(join(src, 'missing'), dest);
    const error = await job.catch((thrown) => thrown);
    expect(error.result.errors[0]).toBe(error);
    for (const value of [error, error.result, job.result]) {
      expect(JSON.stringify({ value })).toContain('ENOENT');
    }
  });

  test('by one reader at a time: a second one is an error', async () => {
    const job = copyTree(src, dest, { entries: true });
    const events = job[Symbol.asyncIterator]();
    expect(() => job[Symbol.asyncIterator]()).toThrow(
      expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_STATE' }),
    );
    let seen = 0;
    while (!(await events.next()).done) seen++;
    expect(seen).toBeGreaterThan(0);
    // After the end there is nothing to divide.
    expect(await job[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });

  test('left early: the job goes on to its end', async () => {
    const job = copyTree(src, dest, { entries: true });
    let events = 0;
    for await (const _ of job) if (++events === 10) break;
    expect(await job).toMatchObject({ files: FILES, errorCount: 0 });
    expect(strangersIn(dest, src)).toEqual([]);
  });

  test('left by a throw: likewise', async () => {
    const job = copyTree(src, dest, { entries: true });
    const loop = async () => {
      for await (const _ of job) throw new Error('no more');
    };
    await expect(loop()).rejects.toThrow('no more');
    expect(await job).toMatchObject({ files: FILES, errorCount: 0 });
  });

  test('left while the queue is full: likewise', async () => {
    const job = copyTree(src, dest, { entries: true });
    const events = job[Symbol.asyncIterator]();
    await events.next();
    await sleep(300);
    expect(job.result.files).toBeLessThan(FILES);
    await events.return?.();
    expect(await job).toMatchObject({ files: FILES });
  });

  test('of a job that fails throws what the job rejects with', async () => {
    const job = copyTree(join(cwd, 'missing'), dest);
    const events: CopyEvent[] = [];
    const iterating = (async () => {
      for await (const event of job) events.push(event);
    })();
    const thrown: unknown = await iterating.catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'ENOENT' });
    expect(await job.catch((error: unknown) => error)).toBe(thrown);
    expect(events).toEqual([]);
    // Once: whoever asks again gets the end.
    expect(await job[Symbol.asyncIterator]().next()).toEqual({ value: undefined, done: true });
  });

  test.each<[string, (abort: AbortController) => CopyOptions, unknown]>([
    ['a filter that throws', () => ({ filter: () => Promise.reject() }), undefined],
    ['an abort', (abort) => ({ filter: () => stop(abort), signal: abort.signal }), 'stop'],
  ])('throws exactly what ends the job: %s', async (_, optionsOf, expected) => {
    const job = copyTree(small, dest, optionsOf(new AbortController()));
    const caught: unknown[] = [];
    try {
      for await (const event of job) expect(event.type).not.toBe('entry');
    } catch (error) {
      caught.push(error);
    }
    expect(caught).toEqual([expected]);
  });

  test('left by a break does not hide that the job fails', async () => {
    const code = `
      process.on('unhandledRejection', (error) => { answer(error.code); });
      const job = copyTree(given.src, given.dest, { entries: true });
      try { for await (const event of job) break; } catch (error) { answer(error.code); }
      await sleep(2000);`;
    mkdirSync(join(dest, 'in the way'), { recursive: true });
    const conflict = join(cwd, `conflict-${made}`);
    cpSync(small, conflict, { recursive: true });
    writeFileSync(join(conflict, 'in the way'), '');
    const ended = await runChild(nodes[0]?.path ?? '', code, { src: conflict, dest });
    expect(ended.answer).toBe('ERR_FS_CP_NON_DIR_TO_DIR');
  });

  test('of errors that do not end the job ends', async () => {
    const job = copyTree([small, join(cwd, 'missing')], dest, { onError: 'continue' });
    const types: string[] = [];
    for await (const event of job) types.push(event.type);
    expect(types).toContain('error');
    expect(await job).toMatchObject({ errorCount: 1, errors: [{ code: 'ENOENT' }] });
    expect((await job).files).toBeGreaterThan(0);
  });
});

describe('entries: true', () => {
  test('without anybody who iterates: the job ends', async () => {
    const { files, warnings } = await copyTree(src, dest, { entries: true });
    expect(files).toBe(FILES);
    expect(warnings).toMatchObject([{ code: 'ENTRIES_DROPPED' }]);
  });

  test('read by next() without waiting for each', async () => {
    const job = copyTree(small, dest, { entries: true });
    const events = job[Symbol.asyncIterator]();
    const all = await Promise.all(Array.from({ length: 2000 }, () => events.next()));
    const values = all.filter(({ done }) => !done).map(({ value }) => value as CopyEvent);
    expect(values.filter(isEntry).length).toBe(walk(small).length + 1);
    await job;
  });
});

describe('an iterator that nobody reads from', () => {
  const hold = async (reads: number) => {
    const job = copyTree(src, dest, { entries: true });
    const events = job[Symbol.asyncIterator]();
    for (let read = 0; read < reads; read++) await events.next();
    return { job, events };
  };
  const awaits: [string, (job: CopyJob) => Promise<CopyResult | undefined>][] = [
    ['await', async (job) => await job],
    ['then()', (job) => job.then((result) => result)],
    ['Promise.all()', async (job) => (await Promise.all([job]))[0]],
    ['finally()', (job) => job.finally(() => {})],
  ];

  test.each(awaits)(
    'does not keep %s from settling',
    { tags: ['all'], timeout: 40_000 * slowness },
    async (_, wait) => {
      for (const reads of [0, 1]) {
        dest = join(cwd, `dest-${made++}`);
        const { job, events } = await hold(reads);
        const result = await wait(job);
        expect(result).toMatchObject({ files: FILES, errorCount: 0, warningCount: 1 });
        expect(result?.warnings).toMatchObject([{ code: 'ENTRIES_DROPPED' }]);
        // What was kept, and what was dropped, is everything.
        let kept = reads;
        for (let next = await events.next(); !next.done; next = await events.next()) {
          if (isEntry(next.value)) kept++;
        }
        expect(kept).toBeGreaterThan(1000);
        expect(kept + (result?.warnings[0]?.count ?? 0)).toBe(walk(src).length + 1);
      }
    },
  );

  test('holds up a copy that nobody awaits', { tags: ['all'] }, async () => {
    const { job, events } = await hold(1);
    job.catch(() => {}); // says what is to be done about an error, and does not wait
    await sleep(6_000);
    expect(job.result.files).toBeLessThan(FILES);
    await events.return?.();
    expect(await job).toMatchObject({ files: FILES, warnings: [] });
  });

  test('read again in time, brings every event though the job is awaited', async () => {
    const { job, events } = await hold(1);
    const copied = job.then((result) => result);
    let seen = 1;
    await sleep(600);
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (isEntry(next.value)) seen++;
      if (seen === 1500) await sleep(600);
    }
    expect(seen).toBe(walk(src).length + 1);
    expect(await copied).toMatchObject({ files: FILES, warnings: [] });
  });
});

describe('a slow consumer', () => {
  test('bounds memory, occupies no pool thread, and gets everything', {
    tags: ['all'],
    timeout: 180_000 * slowness,
  }, async () => {
    const job = copyTree(src, dest, { entries: true });
    const waits: number[] = [];
    let seen = 0;
    let ahead = 0;
    let settled = false;
    const before = process.memoryUsage.rss();
    let most = before;
    const copied = job.finally(() => {
      settled = true;
    });
    for await (const event of job) {
      if (!isEntry(event)) continue;
      seen++;
      // Slow for a while, then as slow as the test can afford.
      if (seen < 2_000 || seen % 100 === 0) await sleep(5);
      if (seen % 50 !== 0) continue;
      const { files, directories, symlinks } = job.result;
      if (!settled) ahead = Math.max(ahead, files + directories + symlinks - seen);
      most = Math.max(most, process.memoryUsage.rss());
      const began = performance.now();
      await stat(src);
      waits.push(performance.now() - began);
    }
    expect(await copied).toMatchObject({ files: FILES });
    expect(seen).toBe(walk(src).length + 1);
    expect(ahead).toBeLessThan(8_000);
    expect(most - before).toBeLessThan(50 << 20);
    expect(median(waits)).toBeLessThan(10);
    expect(strangersIn(dest, src)).toEqual([]);
  });

  test.each(nodes)('leaves the whole pool to the host: $name', async ({ path: node }) => {
    const code = `
      const crypto = await import('node:crypto');
      const pbkdf2 = () => new Promise((resolve) => crypto.pbkdf2('a', 'b', 200_000, 16, 'sha1', resolve));
      const time = async (call) => {
        const began = performance.now();
        await call();
        return performance.now() - began;
      };
      await time(pbkdf2);
      const job = copyTree(given.src, given.dest, { entries: true });
      const events = job[Symbol.asyncIterator]();
      await events.next();
      let files = -1;
      while (files !== job.result.files) { files = job.result.files; await sleep(100); }
      const cpu = process.cpuUsage();
      await sleep(200);
      const { user, system } = process.cpuUsage(cpu);
      const waits = [];
      for (let i = 0; i < 20; i++) waits.push(await time(() => fs.promises.stat(given.src)));
      answer({ files, wait: median(waits), busy: (user + system) / 200_000 });
      await events.return();
      await job;`;
    // With one thread in the pool, a worker that kept it would be seen at once.
    const env = { UV_THREADPOOL_SIZE: '1' };
    const { answer, ...ended } = await runChild<{ files: number; wait: number; busy: number }>(
      node,
      code,
      { src, dest },
      env,
    );
    expect(ended).toMatchObject({ exitCode: 0, signal: null, stderr: '' });
    expect(answer.files).toBeLessThan(FILES);
    expect(answer.wait).toBeLessThan(10);
    expect(answer.busy).toBeLessThan(0.2); // waiting costs nothing
  });

  test.each(nodes)('several of them, in turns: $name', async ({ path: node }) => {
    const code = `
      const counts = await Promise.all([0, 1, 2, 3].map(async (i) => {
        let entries = 0;
        const job = copyTree(given.src, given.dest + '/' + i, { entries: true });
        for await (const event of job) {
          if (event.type === 'entry' && ++entries % 500 === 0) await sleep(5);
        }
        return [entries, (await job).files];
      }));
      answer(counts);`;
    const ended = await runChild(node, code, { src, dest }, { UV_THREADPOOL_SIZE: '2' });
    const all = [walk(src).length + 1, FILES];
    expect(ended).toMatchObject({
      exitCode: 0,
      signal: null,
      stderr: '',
      answer: [all, all, all, all],
    });
  });
});

describe.each(nodes)('a rejection: $name', ({ path: node }) => {
  test('is handled where the job is iterated', async () => {
    const code = `
      let caught = false;
      try { for await (const event of copyTree(given.src, given.dest)); } catch { caught = true; }
      const job = copyTree(given.src, given.dest);
      job[Symbol.asyncIterator]();
      await sleep(50);
      answer(caught);`;
    const ended = await runChild(node, code, { src: join(cwd, 'missing'), dest });
    expect(ended).toMatchObject({ exitCode: 0, signal: null, stderr: '', answer: true });
  });

  test('is not where it is neither iterated nor awaited', async () => {
    const code = `
      copyTree(given.src, given.dest);
      await sleep(500);
      answer(caught);`;
    const ended = await runChild(node, code, { src: join(cwd, 'missing'), dest });
    expect(ended).toMatchObject({ exitCode: 1, signal: null, answer: undefined });
    expect(ended.stderr).toContain('ENOENT');
  });

  test('raises unhandledRejection once', async () => {
    const code = `
      const seen = [];
      process.on('unhandledRejection', (error) => seen.push(error.code));
      copyTree(given.src, given.dest);
      await sleep(200);
      answer(seen);`;
    const ended = await runChild(node, code, { src: join(cwd, 'missing'), dest });
    expect(ended).toMatchObject({ exitCode: 0, signal: null, stderr: '', answer: ['ENOENT'] });
  });
});
