import type { Manual, Section } from './manual.js';

/** docs/command-line.md */
export function toMarkdown({ synopsis, description, sections }: Manual): string {
  return [
    '# Command line',
    '<!-- written by `npm run docs` from bin/program.ts and scripts/docs/manual.ts -->',
    `\`\`\`\n${synopsis.join('\n')}\n\`\`\``,
    ...description.map((text) => text.replace(/\n/g, ' ')),
    'Options may stand anywhere; after `--` everything is a path. [again.md](again.md), ' +
      '[selection.md](selection.md), [atomic.md](atomic.md) and [doctor.md](doctor.md) say more about some. ' +
      'The objects of `--json` have the fields of [CopyEvent](api-results.md#copyevent); the fields of a warning or an error are directly in the object.',
    ...sections.map(section),
  ]
    .join('\n\n')
    .concat('\n');
}

function section({ title, text, items }: Section): string {
  const rows = items.map(([term, meaning]) => `| \`${cell(term)}\` | ${cell(meaning)} |`);
  const table = ['| | |', '|---|---|', ...rows].join('\n');
  return [`## ${title}`, ...(text ? [text.replace(/\n/g, ' ')] : []), table].join('\n\n');
}

export function cell(text: string): string {
  return text.replace(/\|/g, '\\|');
}
