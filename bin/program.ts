/** Declares the options of the command line: those of the library's table, and its own. */
import { Command, type CommanderError, Option } from 'commander';
import { type Choice, cli, groups, type Spelling, table } from '../lib/request/table.js';
import { insteadOf } from './habits.js';
import { refuse } from './refuse.js';
import { withParser } from './values.js';

/** Options that only the command line has. */
const commandOptions: readonly Spelling[] = [
  cli('select', '--include-from <file>', 'read globs to include from a file'),
  cli('select', '--exclude-from <file>', 'read globs to exclude from a file'),
  cli('existing', '--delete', 'with --sync: the same as --mirror'),
  cli('existing', '-b', 'the same as --backup'),
  cli('existing', '-t, --target-directory <dir>', 'copy every SRC into this directory'),
  cli('metadata', '-p', 'preserve modes, timestamps and owners', 'common'),
  cli('metadata', '-a, --archive', '-p, and xattrs, ACLs and hard links', 'common'),
  cli('metadata', '--no-preserve [=list]', 'do not preserve these kinds; without a list, modes'),
  cli('metadata', '-d', 'preserve hard links'),
  cli('content', '--fail-fast', 'stop at the first error'),
  cli('output', '--compare', 'copy nothing, print how SRC and DEST differ', 'common'),
  cli('output', '-v, --verbose', 'print every entry, and why it is excluded', 'common'),
  cli('output', '-q, --quiet', 'print errors only', 'common'),
  cli('output', '--json', 'print JSON, one object per line', 'common'),
  cli('output', '--progress', 'show progress, also in CI and in pipes'),
  cli('output', '--no-progress', 'show no progress'),
  cli('output', '--doctor', 'with DIR [DIR2]: show what the file systems support', 'common'),
  cli('output', '--completions <shell>', 'print completions for a shell'),
  cli('output', '-V, --version', 'print the version', 'common'),
];

/** Options of cp and rsync that name fastcp's default. They are accepted; habits.ts has the others. */
const accepted = ['-r, --recursive', '-R', '-P, --no-dereference', '--mkpath', '-f, --force'];

/**
 * Creates the parser. With `all` the help also has the options that few people need. The others fit on a
 * screen.
 */
export function createProgram(all = false): Command {
  const program = new Command('fastcp')
    .usage('[options] SRC... DEST')
    .description(
      "Copies directory trees. SRC's content is merged into DEST itself.\n" +
        'With DEST/ (a slash) or several SRCs, each SRC lands inside DEST.',
    )
    .argument('[paths...]');
  for (const group of Object.keys(groups) as (keyof typeof groups)[]) {
    program.optionsGroup(all ? groups[group] : 'Options:');
    for (const [name, { cli, ...spec }] of Object.entries(table)) {
      if (cli?.group !== group) continue;
      const option = new Option(cli.flags, cli.help).hideHelp(!all && !cli.common);
      const choices = spec.type === 'choice' ? (spec as Choice<string>).choices : undefined;
      program.addOption(withParser(rename(option, name), name, choices));
    }
    for (const { flags, help, common } of commandOptions.filter((one) => one.group === group)) {
      const option = new Option(flags, help).hideHelp(!all && !common);
      // Both it and --preserve may be given.
      if (flags.startsWith('--no-preserve')) rename(option, 'noPreserve');
      program.addOption(withParser(option, option.attributeName()));
    }
  }
  program.optionsGroup(all ? groups.output : 'Options:');
  for (const flags of accepted) program.addOption(named(flags, `habit${flags}`));
  return program
    .addOption(named('-T, --no-target-directory', 'noTargetDirectory'))
    .addOption(new Option('--help-all', 'print this help with all options').hideHelp(!all))
    .helpOption('-h, --help', 'print this help; --help-all prints all options')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 errors, 2 wrong usage; --compare: 1 differences, 2 errors\n' +
        'Example: fastcp node_modules /cache/node_modules',
    )
    .configureHelp({
      visibleArguments: () => [],
      optionDescription: (option) => option.description,
      optionTerm: (option) => option.flags.replace(' [=', '[='),
      // Without blank lines between groups it fits on a screen.
      formatItemList: (heading, items) => (items.length > 0 ? [heading, ...items] : []),
    })
    .configureOutput({ outputError() {} })
    .exitOverride();
}

/** Parses the words. Names what to write instead of what fastcp does not have. */
export function parse(program: Command, words: string[]): void {
  try {
    program.parse(words, { from: 'user' });
  } catch (error) {
    const { exitCode, message } = error as CommanderError;
    if (exitCode === 0) throw error;
    const known = program.options.map(({ long }) => long ?? '');
    refuse(insteadOf(message, known).replace(/^error: /, ''));
  }
}

/** Tells options, the values of the options before them, and paths. */
export function kindsOf(
  program: Command,
  argv: readonly string[],
): ('option' | 'value' | 'path')[] {
  const takesValue = new Set(
    program.options.flatMap(({ required, short, long }) => (required ? [short, long] : [])),
  );
  let isValue = false;
  let isPath = false;
  return argv.map((word) => {
    if (isValue) {
      isValue = false;
      return 'value';
    }
    isPath ||= word === '--';
    if (isPath || !/^-./.test(word)) return 'path';
    // Of several letters, the first that takes a value has the rest of the word, if there is any.
    const letters = /^-[A-Za-z]+$/.test(word) ? [...word.slice(1)].map((one) => `-${one}`) : [word];
    const at = letters.findIndex((one) => takesValue.has(one));
    isValue = at >= 0 && at === letters.length - 1;
    return 'option';
  });
}

/** Creates a flag that no help shows. */
function named(flags: string, name: string): Option {
  return rename(new Option(flags).hideHelp(), name);
}

/** Sets the name of an option's value. Commander would treat a flag with `no-` as the negation of another. */
function rename(option: Option, name: string): Option {
  option.attributeName = () => name;
  option.negate = false;
  return option;
}
