import { type Habit, habits } from './habits.js';
import { cell } from './markdown.js';

/** docs/coming-from.md */
export function comingFrom(): string {
  return [
    '# Coming from cp, rsync and xcp',
    '<!-- written by `npm run docs` from scripts/docs/habits.ts -->',
    'These tables list known command lines, and the command lines of fastcp for the same purpose. A test runs every row and ' +
      'compares the trees: contents, modes, owners, timestamps, symlinks and hard links. In the examples `a` ' +
      'is SRC, `b` is a directory that exists, and `new` does not exist. fastcp works on one machine only. A device or a FIFO as SRC is created anew, as ' +
      'with `cp -r`; without `-r` cp would read it. If SRC’s directories have no write permission, their copies have none either, and ordinary users need `--sync`, `--mirror` or `--atomic` to copy into them again; `rsync -a` needs no option. A file that another program writes all the time, such as a log, is an error ' +
      '([why](again.md#files-that-change)), where cp and rsync copy what they happen to read: copy a snapshot.',
    ...habits.map(({ title, rows }) =>
      [`## ${title}\n`, '| habit | fastcp | result |', '|---|---|---|', ...rows.map(line)].join(
        '\n',
      ),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

function line({ habit, fastcp, does, refused }: Habit): string {
  const result = does === 'refused' && refused ? `refused: ${refused}` : does;
  return `| \`${cell(habit)}\` | \`${cell(fastcp)}\` | ${cell(result)} |`;
}
