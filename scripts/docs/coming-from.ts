import { type Habit, habitsIn } from './habits.js';
import { cell } from './markdown.js';

/** docs/coming-from.md */
export function comingFrom(root: string): string {
  return [
    '# Coming from cp, rsync and xcp',
    '<!-- written by `npm run docs` from scripts/docs/habits.txt -->',
    'Command lines that you know, and what to write for fastcp. A test runs every one and compares the trees. ' +
      '`a` is SRC, `b` is a directory that exists, and `new` does not exist.',
    [
      'Everywhere:\n',
      '- fastcp works on one machine only.',
      '- A device or FIFO as SRC is created in DEST, as with `cp -r`.',
      '- A file that another program writes all the time, such as a log, is an error ([why](again.md#files-that-change)). ' +
        'Copy a snapshot instead.',
      '- Directories without write permission get copies without it. To copy into them again, ordinary users need `--sync`, ' +
        '`--mirror` or `--atomic`; `rsync -a` needs no option.',
    ].join('\n'),
    ...habitsIn(root).map(({ title, rows }) => {
      const others = rows.filter((row) => !isEqual(row)).map(line);
      const table = ['| you know | fastcp | result |', '|---|---|---|', ...others].join('\n');
      const same = rows.filter(isEqual).map(({ habit }) => `\`${habit}\``);
      const list = same.length > 0 ? [`${ruleFor(title)}, in ${same.join(', ')}.`] : [];
      return [`## ${title}`, ...list, table].join('\n\n');
    }),
  ]
    .join('\n\n')
    .concat('\n');
}

/** Returns whether `ruleFor` says all that changes. */
function isEqual({ habit, fastcp, does }: Habit): boolean {
  const options = habit.startsWith('rsync') ? habit.replace(' -a', ' -p') : habit;
  return (
    does === 'the same' &&
    optional(fastcp) ===
      optional(options.replace(/^\w+/, 'fastcp').replace(/ (\w+)\/\.? (?=[\w/]+$)/, ' $1 '))
  );
}

const optional = (line: string): string => line.replace(' -r ', ' ');

function ruleFor(title: string): string {
  if (title.startsWith('rsync')) return 'Write `fastcp -p` for `rsync -a`, and `a` for `a/`';
  return title === 'xcp'
    ? 'Write `fastcp` for `xcp`'
    : 'Write `fastcp` for `cp` (`-r` is optional), and `a` for `a/.`';
}

function line({ habit, fastcp, does, refused }: Habit): string {
  const result = does === 'refused' && refused ? `refused: ${refused}` : does;
  return `| \`${cell(habit)}\` | \`${cell(fastcp)}\` | ${cell(result)} |`;
}
