import picomatch from 'picomatch';
import { type Contender, contender, contenders } from './contenders.js';
import { type FileSystem, fileSystems } from './file-systems.js';
import { quick, type Workload, workloads } from './workloads.js';

/** One workload on one file system: what is compared is compared within a row. */
export interface Row {
  id: string;
  workload: Workload;
  fileSystem: FileSystem;
  contenders: Contender[];
  rounds: number;
  /** Some contenders were not asked for. */
  partial: boolean;
}

export interface Selection {
  /** Names or globs of rows, workloads, file systems or contenders. */
  only?: string[];
  quick?: boolean;
  rounds?: number;
}

/** Throws a RangeError that names the pattern which matches nothing. */
export function planRows({ only = [], quick: isQuick = false, rounds }: Selection): Row[] {
  const wanted = sortPatterns(only);
  const rows = allRows().filter(
    ({ id, workload, fileSystem }) =>
      matches(wanted.rows, id, workload.name) && matches(wanted.fileSystems, fileSystem.name),
  );
  const chosen = isQuick ? rows.filter(isQuickRow) : rows;
  return chosen.flatMap((row) => {
    const { subject } = row.workload;
    const kept = row.contenders.filter(
      ({ name, role }) =>
        (name === subject || role === 'start' || matches(wanted.contenders, name)) &&
        (!isQuick || quick.contenders.includes(name)),
    );
    const asked =
      wanted.contenders.length === 0 || kept.some((one) => isMatch(wanted.contenders, one.name));
    if (!asked) return [];
    const partial = kept.length < row.contenders.length;
    const all = rounds ?? (isQuick ? quick.rounds : row.rounds);
    return [{ ...row, contenders: kept, rounds: all, partial }];
  });
}

function allRows(): Row[] {
  return workloads.flatMap((workload) =>
    workload.fileSystems.map((name) => ({
      id: `${workload.name}/${name}`,
      workload,
      fileSystem: fileSystems.find((one) => one.name === name) as FileSystem,
      contenders: workload.contenders.map(contender),
      rounds: workload.rounds,
      partial: false,
    })),
  );
}

function isQuickRow({ workload, fileSystem }: Row): boolean {
  return workload.name === quick.workload && quick.fileSystems.includes(fileSystem.name);
}

interface Patterns {
  rows: string[];
  fileSystems: string[];
  contenders: string[];
}

/** Patterns of one sort widen, those of different sorts narrow. */
function sortPatterns(only: string[]): Patterns {
  const sorted: Patterns = { rows: [], fileSystems: [], contenders: [] };
  const names = {
    rows: allRows().flatMap(({ id, workload }) => [id, workload.name]),
    fileSystems: fileSystems.map(({ name }) => name),
    contenders: contenders.map(({ name }) => name),
  };
  for (const pattern of only) {
    const sorts = (['rows', 'fileSystems', 'contenders'] as const).filter((sort) =>
      names[sort].some((name) => isMatch([pattern], name)),
    );
    const [sort] = sorts;
    if (!sort) {
      throw new RangeError(`'${pattern}' is no workload, file system or contender; see --list`);
    }
    sorted[sort].push(pattern);
  }
  return sorted;
}

const isMatch = (patterns: string[], name: string): boolean => picomatch(patterns)(name);

const matches = (patterns: string[], ...names: string[]): boolean =>
  patterns.length === 0 || names.some((name) => isMatch(patterns, name));

/** What `--list` prints. */
export function listRows(rows: Row[]): string {
  const width = Math.max(...rows.map(({ id }) => id.length));
  return rows
    .map(({ id, contenders, rounds }) => {
      const names = contenders.map(({ name }) => name).join(' ');
      return `${id.padEnd(width)}  ${rounds} x ${names}`;
    })
    .join('\n');
}
