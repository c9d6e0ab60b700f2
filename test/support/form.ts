/**
 * The one switch of the tests: FASTCP_TEST, which package.json's scripts set.
 *
 *   quick   `npm test`: what a change most likely breaks, in three minutes
 *   all     `npm run test:all`: everything
 *   long    `npm run test:faults`: what has random or large input in its largest sizes, in tens of minutes and 8 GB of memory
 *
 * test/groups.ts says which files the quick form leaves out. In the other files a test or suite with the tag `all` is left
 * out, too.
 */
const forms = ['quick', 'all', 'long'] as const;

const named = process.env.FASTCP_TEST ?? 'all';
export const form = forms.find((one) => one === named);
if (!form) throw new Error(`FASTCP_TEST: ${named} is none of ${forms.join(', ')}`);
export const isLong = form === 'long';

/** Returns how much of something the form asks for. */
export function size<T>(quick: T, all: T, long = all): T {
  return { quick, all, long }[form ?? 'all'];
}

/** What random tests begin with, and print. FASTCP_SEED makes the same again. */
export const seed = Number(process.env.FASTCP_SEED ?? Date.now() % 1_000_000);
