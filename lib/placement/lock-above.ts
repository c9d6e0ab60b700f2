/** Locks of the programs that run this one. */
import { type BigIntStats, constants, promises } from 'node:fs';
import { isSame } from '../io/looks.js';

/** Has no effect on a directory. By it the descriptors of copies are known, in this process and in others. */
export const mark = constants.O_NONBLOCK;

/**
 * Linux: returns whether a program that runs this one has locked the directory exclusively, as in `flock DIR fastcp …` and
 * `exec 9<DIR; flock 9; fastcp …`. The descriptor is open in this process, or in one above it.
 */
export async function isLockedAbove(found: BigIntStats): Promise<boolean> {
  try {
    for (let pid = process.pid; pid > 0; ) {
      for (const name of await promises.readdir(`/proc/${pid}/fdinfo`).catch(() => [])) {
        const read = promises.readFile(`/proc/${pid}/fdinfo/${name}`, 'latin1');
        const info = await read.catch(() => ''); // closed by now
        if (!/^lock:.* FLOCK .* WRITE /m.test(info)) continue;
        const [, octal = ''] = /^flags:\s+(\d+)/m.exec(info) ?? [];
        if (Number.parseInt(octal, 8) & mark) continue;
        const opened = promises.stat(`/proc/${pid}/fd/${name}`, { bigint: true });
        const there = await opened.catch(() => undefined);
        if (there && isSame(there, found)) return true;
      }
      const stat = await promises.readFile(`/proc/${pid}/stat`, 'latin1');
      pid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    }
  } catch {} // no procfs, or one that hides processes
  return false;
}
