import type { Manual, Section } from './manual.js';

/** man/fastcp.1, in the language of man(7). */
export function toMan({ version, summary, synopsis, description, sections }: Manual): string {
  return [
    '.\\" written by npm run docs',
    `.TH FASTCP 1 "" "fastcp ${version}"`,
    '.SH NAME',
    `fastcp \\- ${roff(summary)}`,
    '.SH SYNOPSIS',
    '.nf',
    ...synopsis.map(roff),
    '.fi',
    '.SH DESCRIPTION',
    ...description.flatMap((text, index) => (index ? ['.PP', roff(text)] : [roff(text)])),
    ...sections.flatMap(section),
  ]
    .join('\n')
    .concat('\n');
}

function section({ title, text, items }: Section): string[] {
  return [
    `.SH ${title.toUpperCase().replace(/.*-.*/, '"$&"').replace(/-/g, '\\-')}`,
    ...(text ? [roff(text)] : []),
    ...items.flatMap(([term, meaning]) => ['.TP', `.B ${roff(term)}`, roff(meaning)]),
  ];
}

/** A line must not begin with a dot or a quote, which are commands; \- is what can be copied to a shell. */
function roff(text: string): string {
  return text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
    .replace(/`([^`]+)`/g, '\\fB$1\\fR')
    .replace(/~/g, '\\(ti')
    .replace(/'/g, '\\(aq');
}
