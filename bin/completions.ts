import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

const writers: Record<Shell, (options: readonly Option[]) => string> = { bash, zsh, fish };

/** Returns a script with which `shell` completes the options in the help of `program`. */
export function completions(shell: Shell, program: Command): string {
  return writers[shell](program.createHelp().visibleOptions(program));
}

/** Works without the package bash-completion. Bash treats `--reflink=auto` as three words. */
function bash(options: readonly Option[]): string {
  const names = options.flatMap(namesOf).join(' ');
  const values = options
    .filter(({ argChoices }) => argChoices)
    .map((option) => {
      const cases = namesOf(option).flatMap((name) =>
        option.optional ? [`${name}=`] : [name, `${name}=`],
      );
      return `    ${cases.join(' | ')}) words='${option.argChoices?.join(' ')}' ;;\n`;
    });
  return `# source <(fastcp --completions bash)
_fastcp() {
  local current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD - 1]} word words=
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -- ]] && return
  done
  if [[ $current == = ]]; then
    option+== current=
  elif [[ $option == = ]]; then
    option=\${COMP_WORDS[COMP_CWORD - 2]}=
  elif [[ $current == -* ]]; then
    words='${names}'
  fi
  case $option in
${values.join('')}  esac
  # Without any, files are completed.
  [[ $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _fastcp fastcp
`;
}

/** Works as a file \`_fastcp\` in $fpath, or sourced. */
function zsh(options: readonly Option[]): string {
  const specs = options.map((option) => {
    const names = namesOf(option);
    const sign = option.optional ? '=-' : option.required ? '=' : '';
    const spelled = names.map((name) =>
      name.startsWith('--') ? name + sign : name + (sign && '+'),
    );
    const once = option.required ? '*' : `(${names.join(' ')})`;
    const how = names.length > 1 ? `'${once}'{${spelled.join(',')}}'` : `'${once}${spelled[0]}`;
    return `  ${how}[${quoted(option.description)}]${zshValue(option)}' \\\n`;
  });
  return `#compdef fastcp
# source <(fastcp --completions zsh)
_fastcp() {
  _arguments -s -S : \\
${specs.join('')}  '*:path:_files'
}
if [[ $funcstack[1] == _fastcp ]]; then _fastcp "$@"; else compdef _fastcp fastcp; fi
`;

  function quoted(text: string): string {
    return text.replace(/[[\]:\\]/g, '\\$&').replace(/'/g, "'\\''");
  }

  function zshValue({ optional, required, argChoices, flags }: Option): string {
    if (!optional && !required) return '';
    const name = flags.replace(/.*[<[]=?|[\]>]/g, '');
    return `${optional ? '::' : ':'}${name}:${argChoices ? `(${argChoices.join(' ')})` : '_files'}`;
  }
}

function fish(options: readonly Option[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  return options
    .map(({ short, long, description, required, argChoices }) => {
      const words = ['complete -c fastcp'];
      if (short) words.push(`-s ${short.slice(1)}`);
      if (long) words.push(`-l ${long.slice(2)}`);
      if (required) words.push(argChoices ? '-x' : '-r');
      if (argChoices) words.push(`-a ${quoted(argChoices.join(' '))}`);
      return `${[...words, `-d ${quoted(description)}`].join(' ')}\n`;
    })
    .join('');
}

function namesOf({ short, long }: Option): string[] {
  return [short, long].filter((name) => name !== undefined);
}
