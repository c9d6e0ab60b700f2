import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { removeTree, workDirectory } from '../support/work.js';
import { environment, FASTCP, run } from './support/fastcp.js';
import { outcomeAt } from './support/habits.js';

// wrong.golden.txt has the command lines and what each prints: people read it, and the test compares.

const golden = join(import.meta.dirname, 'wrong.golden.txt');
const [intro = '', ...sections] = readFileSync(golden, 'utf8').split(/^== /m);
const work = workDirectory('wrong');
const home = join(work, 'home');
mkdirSync(home);
mkdirSync(join(work, 'bin'));
symlinkSync(FASTCP, join(work, 'bin/fastcp'));

const cases = sections.map((section) => {
  const [title = '', ...blocks] = section.split(/^(?=\$ )/m);
  return {
    title: title.trim(),
    cases: blocks.map((block) => {
      const [line = '', ...rest] = block.split('\n');
      const wanted = rest.join('\n').trim();
      return { command: line.slice(2), wanted, printed: wanted };
    }),
  };
});

afterAll(() => {
  if (!process.env.FASTCP_UPDATE_GOLDEN) return;
  const written = cases.map((section) =>
    [
      `== ${section.title}\n`,
      ...section.cases.map(({ command, printed }) => `$ ${command}\n${printed}\n`),
    ].join('\n'),
  );
  writeFileSync(golden, `${[intro.trimEnd(), '', ...written].join('\n').trimEnd()}\n`);
});

test('there are enough of them', () => {
  expect(cases.flatMap((section) => section.cases).length).toBeGreaterThan(60);
});

for (const section of cases) {
  describe(section.title, () => {
    const third = section.cases.filter((_, index) => index % 3 === 0);
    test.each(size(third, section.cases))('$command', async (one) => {
      const place = freshPlace();
      const before = outcomeAt(place);
      const { exitCode, stdout, stderr } = await run('sh', ['-c', one.command], {
        cwd: place,
        env: {
          HOME: home,
          PATH: `${join(work, 'bin')}${delimiter}${environment().PATH}`,
        },
      });
      const text = `${stdout}${stderr}`
        .replaceAll(place, '/place')
        .replaceAll(home, '/home/you')
        .replace(/: \d+ (by|cloned|read)[^;\n]*/g, '')
        .replace(/ in \d+(\.\d+)? m?s/g, ' in 0 ms')
        .replace(/"durationMs":[\d.]+/g, '"durationMs":0');
      one.printed = `${text}exit ${exitCode}`;
      if (!process.env.FASTCP_UPDATE_GOLDEN) expect(one.printed.trim()).toBe(one.wanted);
      expect(one.printed).not.toMatch(/TypeError|undefined|\[object|at .*\.cjs:/);
      if (exitCode === 2) expect(outcomeAt(place)).toEqual(before);
    });
  });
}

function freshPlace(): string {
  const place = join(work, 'place');
  removeTree(place);
  makeFiles(place, {
    'src/a': 'new',
    'src/sub/b': 'b',
    'dest/a': 'old',
    'dest/extra': 'extra',
    'dest/sub': 'a file',
    'repository/.git/HEAD': 'ref: refs/heads/main',
    globs: '+ *.c\n- *.o\n',
    blanks: 'build\nkeep  \n',
    file: 'file',
  });
  mkdirSync(join(place, 'fifo'));
  symlinkSync('.', join(place, 'src/self'));
  const { error } = spawnSync('mkfifo', [join(place, 'fifo/pipe')]);
  if (error) throw error;
  return place;
}
