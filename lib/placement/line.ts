/**
 * The order in which copies of one process take their locks: that in which they began. A copy is in the way of another one if it has
 * a lock that the other one needs, or began earlier and waits for it. One that waits for a copy which calls the user's code is in
 * nobody's way, because that code may wait for them.
 */

/** A copy, as the others see it. */
export interface Waiter {
  readonly number: number;
  /** By directory, what it needs and does not have. */
  wanted: ReadonlyMap<string, { exclusive: boolean }>;
  /** A directory that another process has locked. One copy alone looks whether it still has. */
  outside?: string | undefined;
  /** A directory for which another copy of this process is in its way. */
  busy?: string | undefined;
  /** Called when none is any more. */
  wake(): void;
}

/** How many copies use a directory, how many of them exclusively, and how many of them call the user's code. */
const inUse = new Map<string, { all: number; exclusive: number; callUser: number }>();
/** By their numbers. */
const line: Waiter[] = [];
let begun = 0;

export const nextNumber = (): number => begun++;

/** Puts a copy in its place in the line, and finds out who is in its way. */
export function join(waiter: Waiter): void {
  const later = line.findIndex(({ number }) => number >= waiter.number);
  if (line[later] !== waiter) line.splice(later < 0 ? line.length : later, 0, waiter);
  judge();
}

export function leave(waiter: Waiter): void {
  const at = line.indexOf(waiter);
  if (at >= 0) line.splice(at, 1);
  review();
}

/** Counts users of a directory: `by` is 1, or -1 for one that has ended. */
export function count(id: string, by: 1 | -1, exclusive: boolean, callsUser: boolean): void {
  const users = inUse.get(id) ?? { all: 0, exclusive: 0, callUser: 0 };
  users.all += by;
  users.exclusive += exclusive ? by : 0;
  users.callUser += callsUser ? by : 0;
  inUse.set(id, users);
  if (users.all === 0) inUse.delete(id);
}

/** Wakes those who have nobody in their way any more. */
export function review(): void {
  if (line.some(({ busy }) => busy !== undefined)) judge();
}

function judge(): void {
  /** What those before need: whether exclusively. */
  const claimed = new Map<string, boolean>();
  for (const one of line) {
    const wasBusy = one.busy !== undefined;
    one.busy = undefined;
    let waitsForUser = false;
    for (const [id, { exclusive }] of one.wanted) {
      const users = inUse.get(id);
      const isUsed = (users?.[exclusive ? 'all' : 'exclusive'] ?? 0) > 0;
      if (isUsed || (exclusive ? claimed.has(id) : claimed.get(id))) one.busy ??= id;
      waitsForUser ||= isUsed && (users?.callUser ?? 0) > 0;
    }
    if (wasBusy && one.busy === undefined) one.wake();
    if (waitsForUser) continue;
    for (const [id, { exclusive }] of one.wanted)
      claimed.set(id, exclusive || id === one.outside || claimed.get(id) === true);
  }
}
