import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMAND, run } from '../support/child.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

// Archives that look like directories to a patched fs: Yarn's Plug'n'Play and Electron's asar.

const work = workDirectory('archives');
const dist = join(import.meta.dirname, '../../dist');

/** Replaces the host's functions before fastcp loads, and puts fastcp's in their place afterwards, as a program may. */
const code = `
  const [dist, kind, src, dest] = process.argv.slice(1);
  const fs = require('node:fs');
  Object.defineProperty(process.versions, kind, { value: '1' });
  const calls = [];
  fs.cp = (from, to, options, done) => { calls.push(['cp', from, options.recursive]); done(null); };
  fs.cpSync = (from, to, options) => { calls.push(['cpSync', from, options.recursive]); };
  const own = require(dist + '/fs.cjs'), extra = require(dist + '/fs-extra.cjs');
  Object.assign(fs, { cp: own.cp, cpSync: own.cpSync });
  const options = { recursive: true };
  (async () => {
    await own.promises.cp(src, dest + '/1', options);
    await extra.copy(src, dest + '/2');
    own.cpSync(src, dest + '/3', options);
    extra.copySync(src, dest + '/4');
    console.log(JSON.stringify(calls));
  })().catch((error) => console.log(error.code));
`;
const copied = async (kind: string, src: string, dest: string): Promise<unknown> => {
  const child = await run([process.execPath, '-e', code, dist, kind, src, dest]);
  expect(child).toMatchObject({ status: 0, stderr: '' });
  return child.stdout.startsWith('[') ? JSON.parse(child.stdout) : child.stdout.trim();
};

test.for<[string, string]>([
  ['pnp', 'zip'],
  ['electron', 'asar'],
])(
  '%s: the drop-ins leave what is in a .%s file to the host, and copy a directory of that name',
  async ([kind, extension]) => {
    const archive = join(work, `a.${extension}`);
    writeFileSync(archive, '');
    const src = join(archive, 'package');
    const called = ['cp', 'cp', 'cpSync', 'cpSync'].map((name) => [name, src, true]);
    expect(await copied(kind, src, work)).toEqual(called);
    expect(await copied('other', src, work)).toBe('ENOTDIR');

    makeFiles(work, { [`real.${extension}/package/file`]: 'x' });
    const dest = join(work, `dest of ${extension}`);
    mkdirSync(dest);
    expect(await copied(kind, join(work, `real.${extension}/package`), dest)).toEqual([]);
    for (const name of ['1', '2', '3', '4'])
      expect(readFileSync(join(dest, name, 'file'), 'utf8')).toBe('x');
  },
);

test('the command says what such a path is', async () => {
  writeFileSync(join(work, 'b.zip'), '');
  const { status, stderr } = await run([process.execPath, COMMAND, join(work, 'b.zip/x'), 'new']);
  expect(status).toBe(1);
  expect(stderr).toContain(': not a directory: it is in an archive, which fastcp does not read\n');
});
