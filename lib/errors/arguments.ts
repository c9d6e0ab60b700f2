/** The errors for wrong arguments and options, with the codes and words of Node. */

/** Creates an error that prints its code, as Node's errors do. */
export function invalid(
  Type: typeof Error | typeof TypeError | typeof RangeError,
  code: string,
  message: string,
): Error {
  const error = codeInStack(Object.assign(new Type(message), { code }));
  const print = (): string => `${error.name} [${code}]: ${error.message}`;
  return Object.defineProperty(error, 'toString', { value: print });
}

/** Writes the code into the first line of the stack, where Node's errors have it. */
export function codeInStack<E extends Error & { code: string }>(error: E): E {
  const { name, code, stack } = error;
  if (stack) error.stack = stack.replace(name, `${name} [${code}]`);
  return error;
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'object' && value !== null)
    return `an instance of ${value.constructor?.name ?? 'Object'}`;
  return String(value);
}

/** The command's name for `options.include[0]` or `src`. Undefined in the library. */
let flagOf: ((name: string, value?: unknown) => string) | undefined;

/** Lets all messages of this process name options and arguments as the command does. */
export function nameAs(names: typeof flagOf): void {
  flagOf = names;
}

/** Names an option in a sentence: `lock: false`, or `--no-lock`. */
export function named(name: string, value?: unknown): string {
  return flagOf?.(name, value) ?? (value === undefined ? name : `${name}: ${show(value)}`);
}

/** Begins a sentence: `The "options.lock" property`, or `--no-lock`. */
function subject(name: string): string {
  const kind = name.startsWith('options.') ? 'property' : 'argument';
  return flagOf?.(name) ?? `The "${name}" ${kind}`;
}

/** Creates the error for an option that is refused for any other reason than its value. */
export function refuseOption(name: string, why: string): Error {
  return invalid(TypeError, 'ERR_INVALID_ARG_VALUE', `${subject(`options.${name}`)} ${why}`);
}

/** Creates the error for an option or argument of the wrong type; `name` as users write it. */
export function invalidType(name: string, expected: string, value: unknown): Error {
  const message = `${subject(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_TYPE', message);
}

/** Creates the error for a value of the right type that is not allowed. */
export function invalidValue(name: string, expected: string, value: unknown): Error {
  const message = `${subject(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_VALUE', message);
}

export function outOfRange(name: string, expected: string, value: unknown): Error {
  const begin = flagOf?.(name) ?? `The value of "${name}" is out of range. It`;
  const message = `${begin} must be ${expected}. Received ${show(value)}`;
  return invalid(RangeError, 'ERR_OUT_OF_RANGE', message);
}
