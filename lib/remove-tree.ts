/** Removes trees that the library made or moved away: never through links, never into what is mounted. */
import { promises } from 'node:fs';
import { mountsWithin } from './mounts.js';
import { join } from './paths.js';

/** Rejects where something cannot be removed. A tree that is not there is no error. */
export async function removeTree(path: Buffer): Promise<void> {
  const [mounted] = await mountsWithin(path);
  if (mounted) throw new Error(`a file system is mounted there: '${mounted}'`);
  try {
    await remove(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    // Folders of our own that are read-only.
    await makeWritable(path);
    await remove(path);
  }
}

const remove = (path: Buffer): Promise<void> => promises.rm(path, { recursive: true, force: true });

async function makeWritable(folder: Buffer): Promise<void> {
  await promises.chmod(folder, 0o700).catch(() => {}); // another's: removing it says so
  const entries = await promises.readdir(folder, { withFileTypes: true, encoding: 'buffer' });
  for (const entry of entries) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
  }
}
