import { type Habit, habits } from './habits.js';
import { cell } from './markdown.js';

/** docs/coming-from.md */
export function comingFrom(): string {
  return [
    '# Coming from cp, rsync and xcp',
    '<!-- written by `npm run docs` from scripts/docs/habits.ts -->',
    'The table lists command lines that people know, and what to type for fastcp. A test runs every row and ' +
      'compares the trees: contents, modes, owners, timestamps, symlinks and hard links. In the examples `a` ' +
      'is SRC, `b` is a directory that exists, and `new` does not exist.',
    ...habits.map(({ title, rows }) =>
      [
        `## ${title}\n`,
        '| habit | fastcp | what it does |',
        '|---|---|---|',
        ...rows.map(line),
      ].join('\n'),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

function line({ habit, fastcp, does }: Habit): string {
  return `| \`${cell(habit)}\` | \`${cell(fastcp)}\` | ${cell(does)} |`;
}
