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

/** Creates the error for an option or argument of the wrong type; `name` as users write it. */
export function invalidType(name: string, expected: string, value: unknown): Error {
  const message = `The "${name}" ${kindOf(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_TYPE', message);
}

/** Creates the error for a value of the right type that is not allowed. */
export function invalidValue(name: string, expected: string, value: unknown): Error {
  const message = `The "${name}" ${kindOf(name)} must be ${expected}. Received ${show(value)}`;
  return invalid(TypeError, 'ERR_INVALID_ARG_VALUE', message);
}

export function outOfRange(name: string, expected: string, value: unknown): Error {
  const message = `The value of "${name}" is out of range. It must be ${expected}. Received ${show(value)}`;
  return invalid(RangeError, 'ERR_OUT_OF_RANGE', message);
}

function kindOf(name: string): string {
  return name.startsWith('options.') ? 'property' : 'argument';
}
