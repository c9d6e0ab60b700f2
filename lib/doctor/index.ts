/**
 * Finds what the file systems of one or two directories support, and how files would be copied between them.
 * Tries everything in temporary directories, which are always removed.
 */
import { promises } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import path from 'node:path';
import { removeTree } from '../atomic/remove-tree.js';
import { hasOwnTables, isAppendOnly } from '../bridge/native.js';
import { refuse } from '../errors/copy-error.js';
import { asCopyError } from '../errors/from-node.js';
import { absolute, pathBytes } from '../paths.js';
import { mountOf } from '../placement/mounts.js';
import type { CopyResult } from '../types.js';
import { copyFile, longestName, tries } from './tries.js';
import type { Ability, CopyDiagnosis, CopyMethod, Diagnosis, DirectoryDiagnosis } from './types.js';

export interface DoctorOptions {
  /** Ends the tries when it is aborted. Their files are removed first. */
  signal?: AbortSignal;
}

/** A directory, with a temporary directory in it unless it is not writable. */
interface Patient {
  found: DirectoryDiagnosis;
  room: string | undefined;
}

/**
 * Probes what the file systems of directories support, using temporary files. Rejects if a path is missing or
 * not a directory, and with `signal.reason`.
 */
export async function doctor(
  dir: string,
  dir2?: string,
  options: DoctorOptions = {},
): Promise<Diagnosis> {
  const { signal } = options;
  const directories = (dir2 === undefined ? [dir] : [dir, dir2]).map((given, index) => ({
    given,
    path: absolute(pathBytes(given, index === 0 ? 'dir' : 'dir2')),
  }));
  const patients: Patient[] = [];
  try {
    for (const directory of directories) {
      const patient = await admit(directory);
      patients.push(patient);
      await tryAll(patient, signal);
    }
    const copies = await tryCopies(patients).catch((error: unknown) => {
      for (const { found } of patients) found.obstacle ??= obstacleOf(error);
    });
    signal?.throwIfAborted();
    const descriptors = await descriptorLimit();
    return {
      directories: patients.map(({ found }) => found),
      ...(copies && { copies }),
      limits: {
        cores: availableParallelism(),
        ownTables: hasOwnTables(),
        ...(descriptors !== undefined && { descriptors }),
      },
    };
  } finally {
    for (const { room } of patients) if (room !== undefined) await removeTree(Buffer.from(room));
  }
}

async function admit(directory: { given: string; path: Buffer }): Promise<Patient> {
  const { given } = directory;
  const real = await promises.realpath(directory.path).catch((error: unknown) => {
    throw asCopyError(error, given);
  });
  if (!(await promises.stat(real)).isDirectory()) throw refuse('ENOTDIR', 'not a directory', given);
  const { bsize, blocks, bavail, files, ffree } = await promises.statfs(real);
  const countsInodes = Number.isSafeInteger(files); // erofs says 2^64 - 1
  const mount = await mountOf(Buffer.from(real));
  const found: DirectoryDiagnosis = {
    path: given,
    fileSystem: mount?.fileSystem ?? '',
    mountPoint: mount?.path.toString() ?? '',
    readOnly: mount?.readOnly ?? false,
    freeBytes: bavail * bsize,
    bytes: blocks * bsize,
    freeInodes: countsInodes ? ffree : 0,
    inodes: countsInodes ? files : 0,
    can: {},
  };
  if (isAppendOnly(Buffer.from(real))) {
    found.obstacle = 'it is append-only, so what is tried would stay';
    return { found, room: undefined };
  }
  try {
    const room = await promises.mkdtemp(path.join(real, '.fastcp-doctor-'));
    // It may belong to another user, if all entries there have one owner.
    await promises.readdir(room).catch(async (error: unknown) => {
      await promises.rmdir(room);
      throw error;
    });
    return { found, room };
  } catch (error) {
    found.obstacle = obstacleOf(error);
    return { found, room: undefined };
  }
}

function obstacleOf(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  // Node has no name for some, such as EDQUOT.
  const name = Object.entries(constants.errno).find(([, number]) => number === -(errno ?? 0))?.[0];
  return name ?? code ?? message;
}

async function tryAll({ found, room }: Patient, signal: AbortSignal | undefined): Promise<void> {
  if (room === undefined) return;
  for (const ability of Object.keys(tries) as Ability[]) {
    signal?.throwIfAborted();
    found.can[ability] = await tries[ability](room).then(
      () => true as const,
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
  }
  const longest = await longestName(room).catch((error: unknown) => {
    found.obstacle = obstacleOf(error);
  });
  if (longest !== undefined) found.longestName = longest;
}

async function tryCopies(patients: readonly Patient[]): Promise<CopyDiagnosis | undefined> {
  const [from, to] = [patients.at(0), patients.at(-1)];
  if (from?.room === undefined || to?.room === undefined) return undefined;
  const small = methodOf(await copyFile(from.room, to.room, 4096, {}));
  const large = methodOf(await copyFile(from.room, to.room, 1 << 20, {}));
  const clone = await copyFile(from.room, to.room, 1 << 20, { reflink: 'always' }).then(
    () => '',
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
  const why = [
    clone === '' ? 'blocks can be shared' : `blocks cannot be shared (${clone})`,
    small === 'readWrite' ? 'the kernel copies nothing from here to there' : '',
  ];
  const paths = { from: from.found.path, to: to.found.path };
  return { ...paths, small, large, why: why.filter(Boolean).join('; ') };
}

function methodOf({ methods }: CopyResult): CopyMethod {
  if (methods.clone > 0) return 'clone';
  return methods.copyFileRange > 0 ? 'copyFileRange' : 'readWrite';
}

async function descriptorLimit(): Promise<number | undefined> {
  if (process.platform === 'win32') return undefined;
  const limits = await promises.readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
