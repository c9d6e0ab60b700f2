import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CopyError, copyTree } from '../../lib/index.js';
import type { CopyResult } from '../../lib/types.js';
import { resultWith } from '../bin/support/result.js';
import { makeBigTree, workDirectory } from '../support/big-tree.js';
import { makeSocket } from '../support/trees.js';

const cwd = workDirectory();
const src = join(cwd, 'src');
const many = join(cwd, 'many');
let made = 0;
let dest: string;

beforeAll(() => {
  mkdirSync(join(src, 'directory'), { recursive: true });
  for (const name of ['a', 'b', 'directory/c']) writeFileSync(join(src, name), 'four');
  makeBigTree(many, 1100);
});
beforeEach(() => {
  dest = join(cwd, `dest-${made++}`);
});

const keys = Object.keys(resultWith()).sort();

/** One shape for every outcome. */
function expectShape(result: CopyResult): void {
  expect(Object.keys(result).sort()).toEqual(keys);
  for (const [key, value] of Object.entries(result)) {
    if (key === 'errors' || key === 'warnings') expect(value).toBeInstanceOf(Array);
    else if (key === 'methods')
      expect(Object.keys(value)).toEqual(['clone', 'copyFileRange', 'readWrite']);
    else expect(value, key).toBeTypeOf('number');
  }
  expect(result.durationMs).toBeGreaterThanOrEqual(0);
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it was to reject'),
    (error: unknown) => error,
  );

describe('the result', () => {
  test('of a success', async () => {
    const job = copyTree(src, dest);
    const result = await job;
    expectShape(result);
    const { durationMs, methods, ...rest } = result;
    expect(methods.clone + methods.copyFileRange + methods.readWrite).toBe(3);
    expect(resultWith(rest)).toEqual(
      resultWith({ scanned: 5, files: 3, directories: 2, bytes: 12 }),
    );
    expect(job.result).toEqual(result);
  });

  test('before anything is done', async () => {
    const job = copyTree(src, dest);
    expectShape(job.result);
    expect(job.result).toMatchObject({ scanned: 0, files: 0 });
    await job;
  });

  test('of a job that nobody awaits grows, and is final', async () => {
    const job = copyTree(many, dest);
    let last = job.result;
    let done = false;
    const ended = job.then(() => {
      done = true;
    });
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = job.result;
      expect(now.files).toBeGreaterThanOrEqual(last.files);
      expect(now.durationMs).toBeGreaterThanOrEqual(last.durationMs);
      last = now;
    }
    await ended;
    const { result } = job;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(job.result).toEqual(result);
  });

  test('is its owner’s to change', async () => {
    const job = copyTree(src, dest);
    const result = await job;
    result.files = 99;
    result.errors.push(new CopyError('X', 'x'));
    expect(job.result).toMatchObject({ files: 3, errors: [] });
  });

  test('of a partial failure that continues', async () => {
    mkdirSync(join(dest, 'a', 'in the way'), { recursive: true });
    const job = copyTree(src, dest, { onError: 'continue' });
    const result = await job;
    expectShape(result);
    expect(result).toMatchObject({ scanned: 5, files: 2, directories: 1, errorCount: 1 });
    expect(result.errors).toHaveLength(1);
    const [error] = result.errors;
    expect(error).toBeInstanceOf(CopyError);
    expect(error).toMatchObject({
      code: 'ERR_FS_CP_NON_DIR_TO_DIR',
      syscall: 'cp',
      path: join(src, 'a'),
      dest: join(dest, 'a'),
    });
    expect(job.result).toEqual(result);
  });

  test('of a failure that stops is on the error', async () => {
    mkdirSync(join(dest, 'directory', 'c'), { recursive: true });
    const job = copyTree(src, dest);
    const error = (await rejection(job)) as CopyError;
    expect(error).toBeInstanceOf(CopyError);
    expect(error.code).toBe('ERR_FS_CP_NON_DIR_TO_DIR');
    expectShape(error.result as CopyResult);
    expect(error.result).toMatchObject({ errorCount: 1 });
    expect(error.result?.errors[0]).toBe(error);
    expect(job.result).toEqual(error.result);
  });

  test('of what is refused before anything is done', async () => {
    const job = copyTree(join(cwd, 'missing'), dest);
    const error = (await rejection(job)) as CopyError;
    expect(error).toBeInstanceOf(CopyError);
    expect(error).toMatchObject({ code: 'ENOENT', path: join(cwd, 'missing') });
    expectShape(error.result as CopyResult);
    expect(error.result).toMatchObject({ scanned: 0, files: 0 });
    expect(job.result).toEqual(error.result);
  });

  test('after an abort', async () => {
    const controller = new AbortController();
    const job = copyTree(many, dest, { signal: controller.signal });
    const rejected = rejection(job);
    while (job.result.files === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort('enough');
    expect(await rejected).toBe('enough');
    expectShape(job.result);
    expect(job.result.files).toBeGreaterThan(0);
    const { result } = job;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(job.result).toEqual(result);
  });

  test('keeps the first 1,000 errors and counts all', async () => {
    await copyTree(many, dest);
    const job = copyTree(many, dest, { force: false, errorOnExist: true, onError: 'continue' });
    const errors: unknown[] = [];
    for await (const event of job) if (event.type === 'error') errors.push(event.error);
    const result = await job;
    expectShape(result);
    expect(result.errors).toHaveLength(1000);
    expect(result.errorCount).toBe(1105); // 1,100 files and five links
    expect(errors).toEqual(result.errors);
    for (const { code } of result.errors) expect(code).toBe('ERR_FS_CP_EEXIST');
  });

  test('has the warnings of the selection and those of the copy', async () => {
    const withSocket = join(cwd, 'with socket');
    mkdirSync(withSocket);
    makeSocket(join(withSocket, 'socket'));
    const result = await copyTree(withSocket, dest, { exclude: '*.none,*.other' });
    expect(result.warningCount).toBe(2);
    expect(result.warnings.map(({ code }) => code)).toContain('SOCKET_SKIPPED');
    expect(result.warnings).toHaveLength(2);
  });
});
