/** Gives the owner access to directories whose mode denies it, as the engine does. */
import { promises } from 'node:fs';

export class Access {
  #changed: { directory: Buffer; mode: number }[] = [];

  /**
   * Acts in a directory. If its mode denies that to the owner, changes the mode. If this user must not change it, rejects with the
   * error of `act`.
   */
  async to<T>(directory: Buffer, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
      if (!(await this.#open(directory))) throw error;
      return await act();
    }
  }

  async #open(directory: Buffer): Promise<boolean> {
    try {
      const { mode } = await promises.stat(directory);
      await promises.chmod(directory, mode | 0o700);
      this.#changed.push({ directory, mode: mode & 0o7777 });
      return true;
    } catch {
      return false;
    }
  }

  /** Restores all modes, those of inner directories first. */
  async giveBack(): Promise<void> {
    for (const { directory, mode } of this.#changed.splice(0).reverse())
      await promises.chmod(directory, mode);
  }
}
