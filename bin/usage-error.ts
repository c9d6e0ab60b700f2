const CODES = ['ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_VALUE', 'ERR_OUT_OF_RANGE'];

/**
 * Converts the library's message about wrong options to the terms of the command line. Returns undefined for
 * other errors.
 */
export function usageError(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && CODES.includes(String(error.code)))) return;
  return `fastcp: ${asOptions(error.message)}\nTry 'fastcp --help'.`;
}

/** `"options.onlyIgnored" property` becomes `--only-ignored`, `"src" argument` becomes SRC. */
export function asOptions(message: string): string {
  const named = message.replace(
    /The "options\.(\w+?)s?(?:\[\d+\])?" property/g,
    (_, name: string) => {
      return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    },
  );
  return named
    .replace(/The "(src|dest)(?:\[\d+\])?" argument/, (_, name: string) => name.toUpperCase())
    .replace(
      / must be (?:'auto' or 'never'|false) with (.*)\. Received .*/,
      ' cannot be combined with $1',
    );
}
