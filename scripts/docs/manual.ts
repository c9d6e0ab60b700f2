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
    summary: 'copies directory trees, fast and right',
    synopsis: [
      'fastcp [options] SRC... DEST',
      'fastcp --compare [options] A B',
      'fastcp --doctor [--json] DIR [DIR2]',
      'fastcp --doctor --make-source DIR',
      'fastcp --completions bash|zsh|fish',
    ],
    description: [
      createProgram().description(),
      'Files that DEST has are replaced, and the old content stays until the new is whole. Links are ' +
        'copied as links; SRC given as a link, too, unless it ends in a slash. Modes are kept. After an ' +
        'error the rest is copied. What fails or is interrupted leaves no half file.',
    ],
    sections: [...groups(createProgram(true)), doctor(), ...others],
  };
}

function groups(program: Command): Section[] {
  const sections = new Map<string, Section>();
  for (const option of program.createHelp().visibleOptions(program)) {
    const title = (option.helpGroupHeading ?? 'Output:').replace(/:$/, '');
    const section = sections.get(title) ?? { title, items: [] };
    section.items.push([option.flags, option.description]);
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
      ['0', 'done; with `--compare`: no difference'],
      ['1', 'something failed, and the rest was copied; with `--compare`: there are differences'],
      ['2', 'wrong usage: nothing was done; with --compare also: something could not be read'],
      [
        '129, 130, 143, 152',
        'interrupted by SIGHUP (a closed terminal), SIGINT (Ctrl-C), SIGTERM or SIGXCPU; another signal, a second later, kills. Under `nohup` SIGHUP still interrupts: use `setsid` instead',
      ],
    ],
  },
  {
    title: 'JSON',
    text: 'With `--json` each line on standard output is an object; `type` says which.',
    items: [
      ['progress', 'what has been done so far, every 100 ms'],
      ['entry', 'with `--verbose` or `--dry-run`: what became of an entry'],
      ['warning', '`code`, `message` and, where there is one, `path`'],
      ['error', '`code`, `errno`, `syscall`, `path`, `dest`, `message`'],
      ['result', 'the last line, whatever the outcome'],
      ['difference', 'with `--compare`: an entry that differs'],
    ],
  },
  {
    title: 'Environment',
    items: [
      ['CI', 'set, and neither `0` nor `false`: no progress bar unless `--progress` is given'],
      ['NO_COLOR', 'nothing changes: there are no colours'],
      ['TERM', '`dumb`: no progress bar'],
      ['UV_THREADPOOL_SIZE', 'threads; one of them copies nothing. Default: as many as pay'],
      ['NODE_DEBUG', '`fastcp`: print the options as they were understood, and the result'],
      ['FASTCP_DEBUG', 'print where an unexpected error comes from'],
    ],
  },
  {
    title: 'Examples',
    items: [
      ['fastcp node_modules /cache/node_modules', 'copy a directory to exactly that path'],
      ['fastcp a b backup/', 'make backup/a and backup/b'],
      ['fastcp --mirror src dest', 'make dest what src is, and change only what changed'],
      ['fastcp --gitignore --dry-run -v . ../clean', 'see what would be copied, and why not'],
      ['fastcp --atomic dist /srv/app/current', 'replace a directory in one step'],
      ['source <(fastcp --completions bash)', 'complete options in bash; so in zsh'],
      ['fastcp --completions fish | source', 'in fish'],
    ],
  },
];
