/** Puts TypeDoc's page into the order in which people read: copyTree() and its options first, each counter once. */
import { type groups as helpGroups, type Spelling, table } from '../../lib/request/table.js';

type Group = keyof typeof helpGroups | 'program';

/** The order of --help-all; options without a name on the command line come last. */
const groups: Record<Group, readonly [title: string, example: string]> = {
  select: [
    'Selecting entries',
    "copyTree('.', '../clean', { gitignore: true, exclude: ['*.log'] })",
  ],
  existing: ['Existing entries of DEST', "copyTree('dist', '/srv/app', { mirror: true })"],
  metadata: [
    'Metadata, symlinks, hard links',
    "copyTree('a', 'b', { preserve: ['mode', 'xattrs'] })",
  ],
  content: ['Copying', "copyTree('disk.img', 'copy.img', { sparse: 'always', fsync: true })"],
  output: ['Output', "copyTree('a', 'b', { dryRun: true, entries: true })"],
  program: [
    'In programs',
    "copyTree('a', 'b', { signal: AbortSignal.timeout(60_000), onProgress: ({ files }) => show(files) })",
  ],
};

const first = [
  ...['copyTree()', 'CopyOptions', 'CopyJob', 'CopyEvent', 'CopyProgress', 'CopyResult'],
  ...['CopyCounters', 'CopyMethods', 'CopyError', 'compareTrees()', 'CompareOptions'],
  ...['CompareResult', 'Difference', 'doctor()'],
];

/** What is called and given; what comes back has a page of its own. */
const given = [
  ...['copyTree()', 'CopyOptions', 'compareTrees()', 'CompareOptions', 'doctor()'],
  ...['DoctorOptions', 'Filter', 'FilterEntry', 'PathLike', 'PreserveKind', 'EntryKind'],
];

/** Returns both pages. */
export function inReadingOrder(page: string): Record<'api.md' | 'api-results.md', string> {
  const [title = '', ...rest] = page.trimEnd().split(/\n+(?:\*\*\*\n+)?(?=## )/);
  const nameOf = (section: string): string => /^## (.+)/.exec(section)?.[1] ?? '';
  const placeOf = (section: string): number => {
    const at = first.indexOf(nameOf(section));
    return at < 0 ? first.length : at;
  };
  const sections = rest
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map((one) => (nameOf(one) === 'CopyOptions' ? inGroups(one) : withoutInherited(one)))
    .map((one) => withoutRepetition(one));
  const pageOf = (name: string) => (given.includes(name) ? 'api.md' : 'api-results.md');
  const pages = { 'api.md': [title], 'api-results.md': ['# Results, events and errors'] };
  for (const section of sections) pages[pageOf(nameOf(section))].push(section);
  const anchors = new Map(
    sections.map(nameOf).map((name) => [name.toLowerCase().replace('()', ''), name]),
  );
  const linked = (file: keyof typeof pages): string =>
    `${pages[file].join('\n\n')}\n`.replace(/\]\(#(\w+)\)/g, (link, anchor) => {
      const other = pageOf(anchors.get(anchor) ?? '');
      return anchors.has(anchor) && other !== file ? `](${other}#${anchor})` : link;
    });
  return { 'api.md': linked('api.md'), 'api-results.md': linked('api-results.md') };
}

/** A property of a base is described there. */
function withoutInherited(section: string): string {
  return section
    .replace(/^\| .*\| \[`CopyCounters`\]\(#copycounters\)\.\[.*\n?/gm, '')
    .replace(/^(\| <a id.*) \| - \|$/gm, '$1 |')
    .replace(
      '| Description | Inherited from |\n| ------ | ------ | ------ | ------ |',
      '| Description |\n| ------ | ------ | ------ |',
    )
    .trimEnd();
}

const codes = '[errors.md](errors.md) has each with its cause and its remedy.';

/** Drops what nothing leads to, what the signature says, and what docs/errors.md says of each code. */
function withoutRepetition(section: string): string {
  return section
    .replace(/<a id="property-.*?"><\/a> /g, '')
    .replace(/^\|( -+ \|)+$/gm, (rule) => rule.replace(/ -+ /g, '---'))
    .replace(/^> \*\*(?:FastcpError|Warning)Code\*\* = .*\n\n/m, '')
    .replace(/(?:^- `[A-Z_]+`: .*\n?(?:^ .*\n?)*)+/m, `${codes}\n`)
    .replace(
      /### (?:Extended by|Returns|Constructors|Methods)\n[\s\S]*?(?=\n### |$(?![\s\S]))/g,
      '',
    )
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\| .* \| `undefined` \| (?!The reason|The work).*\n?/gm, '')
    .trimEnd();
}

function inGroups(section: string): string {
  const [head = '', heading = '', body = ''] = section.split(/(\| Property.*\n\| -.*\n)/);
  const rows = body.trimEnd().split('\n');
  const options: Record<string, { cli?: Spelling }> = table;
  const groupOf = (row: string): Group => {
    const name = /`(\w+)\??`/.exec(row)?.[1] ?? '';
    return options[name]?.cli?.group ?? 'program';
  };
  const parts = Object.entries(groups).map(([group, [title, example]]) => {
    const own = rows.filter((row) => groupOf(row) === group);
    return `### ${title}\n\n\`\`\`js\n${example}\n\`\`\`\n\n${heading}${own.join('\n')}`;
  });
  return `${head.replace('### Properties\n\n', '')}${parts.join('\n\n')}`;
}
