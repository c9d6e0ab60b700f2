/** `fastcp --doctor`: prints what the file systems of directories support, for people or as JSON. */
import { Command } from 'commander';
import { doctor } from '../lib/doctor/index.js';
import type { Diagnosis, DirectoryDiagnosis } from '../lib/doctor/types.js';
import { isText } from './arguments.js';
import { errorText } from './error-text.js';
import { bytes, escapeControls, number, quoteName, toJsonLine } from './format.js';
import { abortOnSignals, Interruption } from './interrupt.js';

/** Returns the exit code. Throws a CommanderError for wrong usage. */
export async function runDoctor(argv: readonly string[]): Promise<number> {
  const program = createDoctorProgram();
  program.parse(argv, { from: 'user' });
  const { json } = program.opts<{ json?: boolean }>();
  const [dir, dir2, ...others] = program.args;
  if (!program.args.every(isText)) program.error('error: DIR must be a path in UTF-8');
  if (dir === undefined) return program.error('error: missing argument DIR');
  if (others.length > 0) return program.error('error: too many arguments: DIR and DIR2 at most');

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
    .configureOutput({
      outputError: (message, write) => write(message.replace(/^error:/, 'fastcp:')),
    })
    .showHelpAfterError("Try 'fastcp --doctor --help'.")
    .exitOverride();
}

const methods = {
  clone: 'cloned',
  copyFileRange: 'by copy_file_range',
  readWrite: 'read and written',
} as const;

const abilities = {
  clone: 'clones of files',
  copyFileRange: 'copy_file_range',
  holes: 'holes',
  xattrs: 'extended attributes',
  marks: 'marks (--sync, --mirror)',
  acls: 'access control lists',
  symlinks: 'symlinks',
  hardLinks: 'hard links',
  caseSensitive: 'names differ in case',
  exchange: 'exchange (--atomic)',
} as const;

export function text({ directories, copies, limits }: Diagnosis): string {
  const lines = directories.flatMap(directoryLines);
  if (copies) {
    const { from, to, small, large, why } = copies;
    lines.push(
      from === to ? 'Copies within it:' : `Copies ${quoteName(from)} -> ${quoteName(to)}:`,
    );
    lines.push(row('files below 64 KiB', methods[small]), row('larger files', methods[large]));
    lines.push(row('because', why));
  }
  lines.push('Limits:', row('processors', number(limits.cores)));
  lines.push(row('descriptor tables', limits.ownTables ? 'one for each thread' : 'shared'));
  if (limits.descriptors) lines.push(row('open files', number(limits.descriptors)));
  return `${lines.join('\n')}\n`;
}

function directoryLines(directory: DirectoryDiagnosis): string[] {
  const { path, fileSystem, mountPoint, readOnly, obstacle, longestName, can } = directory;
  const lines = [`${quoteName(path)}:`];
  const how = readOnly ? ', read-only' : '';
  const where = mountPoint && `, ${quoteName(mountPoint)}`; // not every system reports it
  lines.push(row('file system', `${fileSystem || 'unknown'}${where}${how}`));
  lines.push(row('free', `${bytes(directory.freeBytes)} of ${bytes(directory.bytes)}`));
  const { inodes, freeInodes } = directory;
  if (inodes > 0) lines.push(row('free inodes', `${number(freeInodes)} of ${number(inodes)}`));
  if (obstacle !== undefined) {
    const [what, more] =
      Object.keys(can).length > 0 ? ['tried in part', 'more '] : ['not tried', ''];
    lines.push(row(what, `nothing ${more}can be made here: ${obstacle}`));
  }
  if (longestName) lines.push(row('longest name', `${number(longestName)} bytes`));
  for (const [ability, name] of Object.entries(abilities)) {
    const answer = can[ability as keyof typeof abilities];
    if (answer !== undefined) lines.push(row(name, answer === true ? 'yes' : `no: ${answer}`));
  }
  return lines;
}

function row(name: string, value: string): string {
  return `  ${name.padEnd(25)}${escapeControls(value)}`;
}
