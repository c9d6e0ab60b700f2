/** `fastcp --doctor`: prints what the file systems of directories support, for people or as JSON. */
import { Command } from 'commander';
import { doctor } from '../lib/doctor/index.js';
import type { Diagnosis } from '../lib/doctor/types.js';
import { isText } from './arguments.js';
import { errorText } from './error-text.js';
import { escapeControls, quoteName, toJsonLine } from './format.js';
import { abortOnSignals, Interruption } from './interrupt.js';
import { parse } from './program.js';
import { refuse } from './refuse.js';

/** Returns the exit code. Throws ERR_INVALID_ARG_VALUE for wrong usage. */
export async function runDoctor(argv: readonly string[]): Promise<number> {
  const program = createDoctorProgram();
  parse(program, [...argv]);
  const { json } = program.opts<{ json?: boolean }>();
  const [dir, dir2, ...others] = program.args;
  if (!program.args.every(isText)) refuse('DIR must be a path in UTF-8');
  if (dir === undefined) return refuse('missing argument DIR');
  if (others.length > 0) return refuse('too many arguments: DIR and DIR2 at most');

  const abort = new AbortController();
  abortOnSignals(abort);
  try {
    const diagnosis = await doctor(dir, dir2, { signal: abort.signal });
    process.stdout.write(json ? `${toJsonLine(diagnosis)}\n` : text(diagnosis));
    return 0;
  } catch (error) {
    if (error instanceof Interruption) return error.exitCode;
    process.stderr.write(`fastcp: ${errorText(error as Error, 'examine')}\n`);
    return 1;
  }
}

export function createDoctorProgram(): Command {
  return new Command('fastcp')
    .usage('--doctor DIR [DIR2]')
    .description(
      'Tries what the file systems of DIR and DIR2 can do, and how files would be copied\n' +
        'from one to the other. Its test files are removed.',
    )
    .argument('[dirs...]')
    .option('--doctor', 'this')
    .option('--json', 'print one JSON object')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ visibleArguments: () => [] })
    .configureOutput({ outputError() {} })
    .exitOverride();
}

const methods = {
  clone: 'cloned',
  copyFileRange: 'copied by copy_file_range',
  readWrite: 'read and written',
} as const;

const abilities = {
  reflink: 'reflinks',
  xattrs: 'extended attributes',
  marks: 'marks (--sync, --mirror)',
  caseSensitive: 'case-sensitive names',
} as const;

export function text({ directories, method, ownTables }: Diagnosis): string {
  const lines = directories.flatMap(({ path, fileSystem, readOnly, obstacle, can }) => [
    `${quoteName(path)}:`,
    row('file system', `${fileSystem || 'unknown'}${readOnly ? ', read-only' : ''}`),
    ...(obstacle ? [row('not tried', `nothing can be created here: ${obstacle}`)] : []),
    ...Object.entries(can).map(([ability, answer]) =>
      row(abilities[ability as keyof typeof can], answer === true ? 'yes' : `no: ${answer}`),
    ),
  ]);
  const ends = directories.map(({ path }) => quoteName(path)).join(' -> ');
  if (method) lines.push(`A file of 1 MiB, ${ends}: ${methods[method]}`);
  lines.push(`Descriptor tables: ${ownTables ? 'one for each thread' : 'shared'}`);
  return `${lines.join('\n')}\n`;
}

function row(name: string, value: string): string {
  return `  ${name.padEnd(25)}${escapeControls(value)}`;
}
