/** Gives the owner access to a directory that its mode denies, as the engine does. */
import { promises } from 'node:fs';

/**
 * Acts in a directory. If its mode denies that to the owner, changes the mode meanwhile. Rejects as `act` does, also if nobody
 * but the owner could change the mode.
 */
export async function withAccess<T>(directory: Buffer, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    const { mode } = await promises.stat(directory);
    try {
      await promises.chmod(directory, mode | 0o700);
    } catch {
      throw error;
    }
    try {
      return await act();
    } finally {
      await promises.chmod(directory, mode & 0o7777);
    }
  }
}
