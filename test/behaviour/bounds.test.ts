import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildShim } from '../support/shim.js';
import { workDirectory } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

const work = workDirectory('bounds');
const DIRECTORIES = 400;
const FILES = 250;

test.each(nodes)(
  'a mirror lists no more of DEST than a filter keeps up with: $name',
  async ({ path: node }) => {
    const [src, dest, log] = ['src', 'dest', 'log'].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ];
    // Half of them only DEST has, and of the others all files.
    const name = 'x'.repeat(100);
    for (let directory = 0; directory < DIRECTORIES; directory++) {
      mkdirSync(join(dest, `${directory}`), { recursive: true });
      if (directory % 2) mkdirSync(join(src, `${directory}`), { recursive: true });
      for (let file = 0; file < FILES; file++) {
        closeSync(openSync(join(dest, `${directory}`, `${name}${file}`), 'w'));
      }
    }
    const code = `
      let go;
      const held = new Promise((resolve) => { go = resolve; });
      const filter = (_src, _dest, { kind }) => kind === 'directory' || held.then(() => true);
      const job = copyTree(given.src, given.dest, { mirror: true, filter });
      const size = () => fs.statSync(given.log).size;
      let seen = -1;
      while (seen !== size()) { seen = size(); await sleep(300); }
      const listed = new Set(fs.readFileSync(given.log, 'utf8').match(/^getdents64 .*dest.*$/gm)).size;
      go();
      const { deleted, errorCount } = await job;
      answer({ listed, deleted, errorCount });`;
    const env = { LD_PRELOAD: buildShim(work), FAULT_ROOT: work, FAULT_LOG: log, FAULT_TRACE: '1' };
    const ended = await runChild<{ listed: number }>(node, code, { src, dest, log }, env);
    expect(ended).toMatchObject({
      exitCode: 0,
      stderr: '',
      answer: { deleted: DIRECTORIES * FILES + DIRECTORIES / 2, errorCount: 0 },
    });
    // All names together take 14 MB; 4 MiB of them may wait, and what is listed until a worker looks.
    expect(readFileSync(log, 'utf8')).toContain('getdents64');
    expect(ended.answer.listed).toBeLessThan(DIRECTORIES / 2);
    console.log(`${ended.answer.listed} of ${DIRECTORIES} directories were listed`);
  },
);
