/**
 * Finds what the file systems of one or two directories can do, and how a file would be copied between them. Tries everything in
 * temporary directories, which are always removed.
 */
import { promises } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { removeTree } from '../atomic/remove-tree.js';
import { checkMarks, hasOwnTables, isAppendOnly, setAttribute } from '../bridge/native.js';
import { copyTree } from '../copy-tree.js';
import { refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { asCopyError } from '../errors/from-node.js';
import { absolute, pathBytes } from '../paths.js';
import { mountOf } from '../placement/mounts.js';
import type { CopyOptions, CopyResult } from '../types.js';
import type { Ability, CopyMethod, Diagnosis, DirectoryDiagnosis, DoctorOptions } from './types.js';

/** A directory, with a temporary directory in it unless nothing can be created there. */
interface Patient {
  found: DirectoryDiagnosis;
  room?: string;
}

/** Each rejects with the reason if the file system lacks the ability. */
const tries: Record<Ability, (room: string) => Promise<unknown>> = {
  reflink: (room) => copyFile(room, room, 'reflink', { reflink: 'always' }),
  async xattrs(room) {
    const from = path.join(room, 'xattrs');
    await promises.writeFile(from, '');
    const errno = setAttribute(Buffer.from(from), Buffer.from('user.fastcp'), Buffer.from('x'));
    if (errno !== 0) throw errorOf({ errno, operation: 'setxattr' }, '');
    await copyTree(from, `${from} to`, { preserve: ['xattrs'], strict: true });
  },
  async marks(room) {
    if (checkMarks(Buffer.from(room)) !== 0) throw new Error('contents are compared every time');
  },
  async caseSensitive(room) {
    await promises.writeFile(path.join(room, 'case'), '');
    const other = await promises.lstat(path.join(room, 'CASE')).catch(() => undefined);
    if (other) throw new Error('names that differ only in case are one');
  },
};

/**
 * Finds what the file systems of directories can do, by trying it with temporary files. Rejects if a path is missing or not a
 * directory, and with `signal.reason`.
 */
export async function doctor(
  dir: string,
  dir2?: string,
  options: DoctorOptions = {},
): Promise<Diagnosis> {
  const { signal } = options;
  const given = (dir2 === undefined ? [dir] : [dir, dir2]).map((one, index) => {
    return [one, absolute(pathBytes(one, index === 0 ? 'dir' : 'dir2'))] as const;
  });
  const patients: Patient[] = [];
  try {
    for (const one of given) {
      const patient = await admit(...one);
      patients.push(patient);
      for (const ability of patient.room ? (Object.keys(tries) as Ability[]) : []) {
        signal?.throwIfAborted();
        patient.found.can[ability] = await tries[ability](patient.room as string).then(
          () => true as const,
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        );
      }
    }
    const [from, to] = [patients.at(0), patients.at(-1)].map((one) => one?.room);
    const copied = from && to ? await copyFile(from, to, 'method', {}) : undefined;
    signal?.throwIfAborted();
    return {
      directories: patients.map(({ found }) => found),
      ...(copied && { method: methodOf(copied) }),
      ownTables: hasOwnTables(),
    };
  } finally {
    for (const { room } of patients) if (room) await removeTree(Buffer.from(room));
  }
}

async function admit(given: string, directory: Buffer): Promise<Patient> {
  const real = await promises.realpath(directory).catch((error: unknown) => {
    throw asCopyError(error, given);
  });
  if (!(await promises.stat(real)).isDirectory()) throw refuse('ENOTDIR', 'not a directory', given);
  const { fileSystem = '', readOnly = false } = (await mountOf(Buffer.from(real))) ?? {};
  const found: DirectoryDiagnosis = { path: given, fileSystem, readOnly, can: {} };
  if (isAppendOnly(Buffer.from(real))) {
    found.obstacle = 'it is append-only, so what is tried would stay';
    return { found };
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
    const { code, errno = 0 } = error as NodeJS.ErrnoException;
    // Node has no name for some, such as EDQUOT.
    const named = Object.entries(constants.errno).find(([, number]) => number === -errno)?.[0];
    found.obstacle = named ?? code ?? String(error);
    return { found };
  }
}

/** Copies a file of 1 MiB. */
async function copyFile(
  from: string,
  to: string,
  name: string,
  options: CopyOptions,
): Promise<CopyResult> {
  const file = path.join(from, name);
  await promises.writeFile(file, Buffer.alloc(1 << 20, 'fastcp'));
  return await copyTree(file, path.join(to, `${name} to`), options);
}

function methodOf({ methods }: CopyResult): CopyMethod {
  if (methods.clone > 0) return 'clone';
  return methods.copyFileRange > 0 ? 'copyFileRange' : 'readWrite';
}
