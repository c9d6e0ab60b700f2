/**
 * What the library takes from Node when it is loaded, and keeps: tests replace timers with fake ones, and test runners replace
 * modules, `process` and global classes. In a vm context, as Jest uses, values also come from two realms. So lib has no
 * `instanceof` for a class of the language or of Node, and asks these functions.
 */

export const { getBuiltinModule, hrtime } = process;
const { nextTick } = process;
export const { clearTimeout, setImmediate, setTimeout } = getBuiltinModule('node:timers');

/** Returns whether fake timers have replaced `process.nextTick`. The streams of child processes then stand still. */
export const isNextTickFake = (): boolean => process.nextTick !== nextTick;

/** Waits for some milliseconds. */
export const pause = (ms: number): Promise<void> => new Promise((go) => void setTimeout(go, ms));

/** Returns Node's own classes, because `node:events` and child processes do not take those of jsdom. */
export function abortClasses(): Pick<typeof globalThis, 'AbortController' | 'AbortSignal'> {
  return getBuiltinModule('node:vm').runInThisContext('({ AbortController, AbortSignal })');
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

/** Recognises URLs as Node does. */
export function isUrl(value: unknown): value is URL {
  const { href, protocol, auth, path } = Object(value) as Record<string, unknown>;
  return Boolean(href && protocol) && auth === undefined && path === undefined;
}
