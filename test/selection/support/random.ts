/** Random trees with rule files, the same for the same seed. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { randomNumbers } from '../../../scripts/random.mjs';

export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomNumbers(seed);
  }

  below(end: number): number {
    return (this.#next() * 2 ** 32) % end;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }
}

/** Paths and contents with a byte per character; directories are those with something in them. */
export interface Case {
  files: Map<string, string>;
  links: Set<string>;
  emptyDirectories: Set<string>;
  /** Also files that are no longer there, where a directory is. */
  tracked: Set<string>;
}

export const inBytes = (path: string): Buffer => Buffer.from(path, 'latin1');

/** Makes a case's tree in a directory, which need not be there. */
export function writeCase(directory: string, { files, links, emptyDirectories }: Case): void {
  const at = (path: string): Buffer => Buffer.concat([Buffer.from(`${directory}/`), inBytes(path)]);
  const makeParent = (path: string): void => {
    const end = path.lastIndexOf('/');
    mkdirSync(end < 0 ? directory : at(path.slice(0, end)), { recursive: true });
  };
  for (const [path, content] of files) {
    makeParent(path);
    writeFileSync(at(path), inBytes(content));
  }
  for (const path of links) {
    makeParent(path);
    symlinkSync('/', at(path));
  }
  for (const path of emptyDirectories) mkdirSync(at(path), { recursive: true });
}

const bytes = (text: string): string => Buffer.from(text).toString('latin1');

const names = ['a', 'b', 'ab', 'abc', 'A', 'aB', 'x.o', 'y.o', '.a', 'a b', 'b '];
const oddNames = [
  'a\\b',
  '[a]',
  '*',
  '?',
  '#a',
  '!a',
  'a\\',
  'é',
  'É',
  '日本',
  '~',
  '-',
  'a\nb',
  ']',
  '^a',
];
const notText = ['\xff', 'a\xe9', '\xc3\x28'];

/** With `ignoreCase` no two names of a directory differ in case alone. */
export function randomCase(random: Random, { ignoreCase }: { ignoreCase: boolean }): Case {
  const made: Case = {
    files: new Map(),
    links: new Set(),
    emptyDirectories: new Set(),
    tracked: new Set(),
  };
  const paths: string[] = [];
  const fill = (directory: string, depth: number): void => {
    const taken = new Set<string>();
    const count = 1 + random.below(depth === 0 ? 6 : 4);
    for (let i = 0; i < count; i++) {
      const name = randomName(random);
      const id = ignoreCase ? name.toLowerCase() : name;
      if (taken.has(id)) continue;
      taken.add(id);
      const path = directory + name;
      paths.push(path);
      if (depth < 4 && random.chance(45)) fill(`${path}/`, depth + 1);
      else if (random.chance(6)) made.links.add(path);
      else if (random.chance(5)) made.emptyDirectories.add(path);
      else made.files.set(path, '');
    }
    if (depth === 0 || random.chance(25)) made.files.set(`${directory}.gitignore`, '');
  };
  fill('', 0);
  for (const path of made.files.keys()) {
    if (path.endsWith('.gitignore'))
      made.files.set(path, randomRules(random, path.slice(0, -10), paths));
    if (random.chance(4)) made.tracked.add(path);
  }
  // A file in the place of a directory, perhaps with other letters: the directory is not tracked.
  const others = paths.filter((path) => !made.files.has(path) && !made.links.has(path));
  for (const path of others) {
    if (!random.chance(4)) continue;
    const name = ignoreCase && random.chance(50) ? path.toUpperCase() : path;
    const isAbove = [...made.tracked].some((one) => one.startsWith(`${name}/`));
    const isBelow = [...made.tracked].some((one) => name.startsWith(`${one}/`));
    if (!isAbove && !isBelow) made.tracked.add(name);
  }
  return made;
}

function randomName(random: Random): string {
  const odds = random.below(100);
  if (odds < 78) return random.pick(names);
  return odds < 97 ? bytes(random.pick(oddNames)) : random.pick(notText);
}

/** Rules that are likely to match something: most begin as a path that is there. */
export function randomRules(random: Random, directory: string, paths: readonly string[]): string {
  const below = paths
    .filter((path) => path.startsWith(directory))
    .map((path) => path.slice(directory.length));
  const lines: string[] = [];
  for (let count = random.below(6); count >= 0; count--) {
    lines.push(randomRule(random, below.length > 0 ? random.pick(below) : 'a'));
  }
  const mark = random.chance(3) ? '\xef\xbb\xbf' : '';
  return mark + lines.join(random.chance(5) ? '\r\n' : '\n') + (random.chance(80) ? '\n' : '');
}

const classes = [
  '[a-z]',
  '[!a]',
  '[^b]',
  '[ab]',
  '[]a]',
  '[!]]',
  '[a-]',
  '[-a]',
  '[[:alpha:]]',
  '[[:upper:]x]',
];
const oddClasses = [
  '[[:nope:]]',
  '[a',
  '[',
  '[\\]]',
  '[b-a]',
  '[\\a-c]',
  '[a/b]',
  '[A-C]',
  '[[:space:]]',
  '[[:]',
  '[[:alpha:]-z]',
  '[a-b-c]',
  '[\xc3]',
  '[[a]',
  '[^[:digit:]]',
  '[.-0]',
];

function randomRule(random: Random, path: string): string {
  let rule = '';
  for (const byte of path
    .split('/')
    .slice(-1 - random.below(4))
    .join('/')) {
    const odds = random.below(100);
    if (byte === '/')
      rule += random.pick(['/', '/', '/', '/', '/', '/**/', '/*/', '**/', '/**', '\\/', '//']);
    else if (odds < 62) rule += byte;
    else if (odds < 70) rule += '?';
    else if (odds < 77) rule += '*';
    else if (odds < 80) rule += '**';
    else if (odds < 84) rule += `\\${byte}`;
    else if (odds < 90) rule += random.pick(classes);
    else if (odds < 93) rule += random.pick(oddClasses);
    else if (odds < 96)
      rule += byte === byte.toUpperCase() ? byte.toLowerCase() : byte.toUpperCase();
  }
  if (random.chance(20)) rule = `/${rule}`;
  if (random.chance(8)) rule = `**/${rule}`;
  if (random.chance(6)) rule = `*${rule}`;
  if (random.chance(6)) rule += '*';
  if (random.chance(6)) rule += '/**';
  if (random.chance(3)) rule += '/*';
  if (random.chance(18)) rule += '/';
  if (random.chance(28)) rule = `!${rule}`;
  if (random.chance(2)) rule = `#${rule}`;
  if (random.chance(5)) rule += random.pick([' ', '  ', '\\ ', ' \\ ', '\t', '\\', '\r', '\\  ']);
  return rule.replaceAll('\n', '?');
}
