/**
 * Which tests exist, and which of them `npm test` runs. Names are below test/, without their ending. A file of two groups
 * belongs to the one that `npm test` leaves out.
 */
interface Group {
  files: string[];
  /** `npm test` runs them, but for tests and suites with the tag `all`. */
  quick?: true;
}

export const groups: Record<string, Group> = {
  'what a copy does': { files: ['behaviour/*', 'lib/*'], quick: true },
  'what is selected, against git': { files: ['selection/*'], quick: true },
  "calls of Node's fs and of fs-extra": { files: ['fs/*'], quick: true },
  'the command line': { files: ['bin/*'], quick: true },
  types: { files: ['types/*'], quick: true },
  'system calls and allocations that fail': { files: ['faults/*'] },
  'mounts and rare file systems': {
    files: ['behaviour/{append-only,leases,mounts,other-file-systems}'],
  },
  'environments that end, and hosts at work': {
    files: ['behaviour/{bounds,hanging,host,teardown,turns}'],
  },
  'a terminal': { files: ['bin/{completions,screen,terminal}'] },
  'every row of docs/coming-from.md, against cp and rsync': { files: ['bin/habits'] },
  'random input': { files: ['fuzz/*'] },
  'trees that somebody changes on purpose': { files: ['hostile/*'] },
  'many copies at once, and large trees': { files: ['load/*'] },
  containers: { files: ['containers/*'] },
  'other systems and processors': { files: ['darwin/*', 'linux/*', 'windows/*'] },
  'the package as npm installs it': { files: ['package/*'] },
  'documentation and its examples': { files: ['docs/*'] },
  'rules of the sources': { files: ['lint/*', 'mutants/*'] },
  benchmarks: { files: ['bench/*'] },
};

/** What measures time or counts threads: another test beside it would be measured as well. */
export const alone = [
  'behaviour/{hanging,host,progress}',
  'bench/{bench,scaling}',
  'faults/memory',
  'linux/*',
  'load/*',
];
