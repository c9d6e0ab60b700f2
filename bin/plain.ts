/**
 * The command lines that most people write: paths only, or `--version`. They are recognised without commander, which takes
 * longer to load than a small copy.
 */
import type { Invocation } from './args.js';
import { looksRemote, pathOf } from './arguments.js';

export function asksForVersion(argv: readonly string[]): boolean {
  return argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V');
}

/** Returns what parseArgs() would return for two paths or more. Undefined if a word needs a closer look. */
export function plainInvocation(argv: readonly string[]): Invocation | undefined {
  if (argv.length < 2 || argv.some((word) => word.startsWith('-') || looksRemote(word)))
    return undefined;
  const paths = argv.map(pathOf);
  return {
    sources: paths.slice(0, -1),
    dest: paths.at(-1) ?? '',
    compare: false,
    copy: { onError: 'continue' }, // as cp does
    output: { json: false, quiet: false, entries: false, all: false, progress: undefined },
  };
}
