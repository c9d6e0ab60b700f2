import type { Command } from 'commander';
import { createDoctorProgram } from '../../bin/doctor.js';
import { createProgram } from '../../bin/program.js';
import manifest from '../../package.json' with { type: 'json' };

/** What the man page and docs/command-line.md say; `code` stands in backticks. */
export interface Manual {
  version: string;
  summary: string;
  synopsis: string[];
  description: string[];
  sections: Section[];
}

export interface Section {
  title: string;
  text?: string;
  /** Words, and what they mean; the words are code. */
  items: [term: string, meaning: string][];
}

/** Options are those of the help. */
export function manual(): Manual {
  return {
    version: manifest.version,
    summary: 'copy directory trees',
    synopsis: [
      'fastcp [options] SRC... DEST',
      'fastcp --compare [options] A B',
      'fastcp --doctor [--json] DIR [DIR2]',
      'fastcp --completions bash|zsh|fish',
    ],
    description: [
      createProgram().description(),
      'Existing files are replaced. The old content stays until the new file is complete. Symlinks are ' +
        'copied as symlinks, also SRC itself, unless it ends in a slash. Modes are preserved. After an ' +
        'error everything else is copied, unless the disk is full or read-only. An error or an interruption leaves no ' +
        'partial file.',
      'The options of cp that describe this behaviour are accepted as well, and change nothing: `-r`, `-R`, ' +
        '`-f`, `-P`, `--recursive`, `--force`, `--no-dereference`. With `-T` (`--no-target-directory`) DEST is DEST itself, even if it ends ' +
        'in a slash.',
    ],
    sections: [...groups(createProgram(true)), doctor(), ...others],
  };
}

function groups(program: Command): Section[] {
  const sections = new Map<string, Section>();
  for (const option of program.createHelp().visibleOptions(program)) {
    const title = (option.helpGroupHeading ?? 'Output:').replace(/:$/, '');
    const section = sections.get(title) ?? { title, items: [] };
    section.items.push([option.flags.replace(' [=', '[='), option.description]);
    sections.set(title, section);
  }
  return [...sections.values()];
}

function doctor(): Section {
  const program = createDoctorProgram();
  const [section] = groups(program);
  return {
    title: 'With --doctor',
    text: program.description(),
    items: section?.items.filter(([flags]) => !/--(?:doctor|help)/.test(flags)) ?? [],
  };
}

const others: Section[] = [
  {
    title: 'Exit status',
    items: [
      ['0', 'success; with `--compare`: no differences'],
      ['1', 'at least one error; with `--compare`: differences'],
      ['2', 'wrong usage, nothing was done; with `--compare` also: something could not be read'],
      [
        '129, 130, 143, 152',
        'interrupted by SIGHUP (a closed terminal), SIGINT (Ctrl-C), SIGTERM or SIGXCPU. Another signal, a second later, kills. `nohup` does not prevent SIGHUP: use `setsid` instead',
      ],
    ],
  },
  {
    title: 'JSON',
    text: 'With `--json` each line on standard output is an object. Its `type` is one of these:',
    items: [
      ['progress', 'the counters so far, every 100 ms; only with `--progress`'],
      ['entry', 'with `--verbose` or `--dry-run`: an entry, and the action'],
      ['warning', '`code`, `message` and, if there is one, `path`'],
      ['error', '`code`, `errno`, `syscall`, `path`, `dest`, `message`'],
      [
        'result',
        'the last line, whatever the outcome; no counters if a comparison did not reach its end',
      ],
      ['difference', 'with `--compare`: an entry that differs'],
    ],
  },
  {
    title: 'Environment',
    items: [
      ['CI', 'if set, and neither `0` nor `false`: show no progress bar without `--progress`'],
      ['NO_COLOR', 'has no effect: the output has no colours'],
      ['TERM', '`dumb`: show no progress bar'],
      [
        'NODE_DEBUG',
        '`fastcp`: print the resolved options, the result, and whether threads have tables of file descriptors of their own',
      ],
      [
        'FASTCP_SHARED_TABLE',
        'if set, threads share the table of file descriptors of the process, for tools that follow descriptors by their numbers',
      ],
      ['FASTCP_DEBUG', 'print the stack of an unexpected error'],
    ],
  },
  {
    title: 'Examples',
    items: [
      ['fastcp node_modules /cache/node_modules', 'copy a directory to exactly that path'],
      ['fastcp a b backup/', 'create backup/a and backup/b'],
      ['fastcp --mirror src dest', 'copy changes, and delete what only dest has'],
      [
        'fastcp --gitignore --dry-run -v . ../clean',
        'print what would be copied or excluded, and why',
      ],
      ['fastcp --atomic dist /srv/app/current', 'replace a directory in one step'],
      ['source <(fastcp --completions bash)', 'enable completions in bash; zsh works alike'],
      ['fastcp --completions fish | source', 'enable completions in fish'],
    ],
  },
  {
    title: 'See also',
    items: [
      [
        'cp(1), rsync(1), gitignore(5), copy_file_range(2), ioctl_ficlone(2)',
        'similar commands, the rules of `--gitignore`, and the system calls',
      ],
      [
        'docs/coming-from.md',
        'in the repository: options of cp and rsync, and what fastcp has for them',
      ],
    ],
  },
];
