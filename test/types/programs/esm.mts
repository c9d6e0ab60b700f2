// What people write with the package's types, as an ES module.
import { type CopyOptions as NodeCopyOptions, cp as nodeCp } from 'node:fs';
import {
  CopyError,
  type CopyEvent,
  type CopyMethods,
  type CopyOptions,
  type CopyResult,
  type CopyWarning,
  compareTrees,
  copyTree,
  doctor,
  type ErrorCode,
  type Filter,
  type WarningCode,
} from 'fastcp';
import fs, { cp, cpSync, promises } from 'fastcp/fs';
import { cp as cpOfPromises } from 'fastcp/fs/promises';
import extra, { copy, copySync } from 'fastcp/fs-extra';

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const sure = <T extends true>(value: T): T => value;

// Every option may be absent, or undefined.
sure<
  Same<
    keyof CopyOptions,
    keyof { [K in keyof CopyOptions as undefined extends CopyOptions[K] ? K : never]: 1 }
  >
>(true);
const nothing: { [K in keyof Required<CopyOptions>]: undefined } = {} as never;
copyTree('a', 'b', nothing);
copyTree('a', 'b', { force: process.env.KEEP ? false : undefined, signal: undefined });
copyTree(['a', Buffer.from('b'), new URL('file:///c')], 'd', {
  include: '*.ts',
  exclude: ['a', 'b'],
});
const several: readonly string[] = ['a', 'b'];
copyTree(several, 'c', {
  preserve: ['mode', 'hardLinks'],
  ignoreFileNames: ['.dockerignore'] as const,
});

// @ts-expect-error a mistyped option
copyTree('a', 'b', { gitIgnore: true });
// @ts-expect-error a choice that there is not
copyTree('a', 'b', { reflink: 'maybe' });
// @ts-expect-error a kind that there is not
copyTree('a', 'b', { preserve: ['links'] });
// @ts-expect-error null is no option
copyTree('a', 'b', { filter: null });
// @ts-expect-error what copies means nothing to a comparison
compareTrees('a', 'b', { mirror: true });

// Filters that were written for fs.cp.
const written = (source: string, destination: string): boolean => source !== destination;
const slow = async (source: string): Promise<boolean> => !source.endsWith('.log');
copyTree('a', 'b', { filter: written });
copyTree('a', 'b', { filter: slow });
copyTree('a', 'b', {
  filter: (src, dest, { kind, name, path, parent }) =>
    sure<Same<typeof src, string>>(true) && kind === 'file' && name + path + dest !== parent?.path,
});
const options: NodeCopyOptions = { recursive: true, filter: written };
nodeCp('a', 'b', options, () => {});
cp('a', 'b', options, (error) => console.log(error?.code));
cpSync('a', 'b', { recursive: true, filter: written });
await promises.cp('a', 'b', options);
if (options.filter) copyTree('a', 'b', { filter: options.filter });
const ours: Filter = (_src, _dest, entry) => entry.kind !== 'characterDevice';
copyTree('a', 'b', { filter: ours });
// @ts-expect-error it must say yes or no
copyTree('a', 'b', { filter: () => 'yes' });

// A signal of lib.dom, and of Node.
const { signal } = new AbortController();
sure<Same<typeof signal, AbortSignal>>(true);
copyTree('a', 'b', { signal });
copyTree('a', 'b', { signal: AbortSignal.any([signal, AbortSignal.timeout(1000)]) });
doctor('a', 'b', { signal });

// Results and progress.
const result: CopyResult = await copyTree('a', 'b', {
  onProgress({ scanned, total, durationMs, methods }) {
    sure<Same<typeof total, number | undefined>>(true);
    console.log(scanned / (total ?? scanned), durationMs, methods.copyFileRange);
  },
});
sure<Same<CopyResult['methods'], CopyMethods>>(true);
sure<Same<keyof CopyMethods, 'clone' | 'copyFileRange' | 'readWrite'>>(true);
const numbers: number[] = [
  result.scanned,
  result.files,
  result.directories,
  result.symlinks,
  result.hardLinks,
];
numbers.push(
  result.special,
  result.bytes,
  result.unchanged,
  result.skipped,
  result.deleted,
  result.snapshots,
);
numbers.push(result.errorCount, result.warningCount, result.durationMs);
sure<Same<typeof result.replaced, boolean | undefined>>(true);
// @ts-expect-error an old name
result.made;

// Events narrow by their type.
function look(event: CopyEvent): string {
  switch (event.type) {
    case 'progress':
      return `${event.files} ${event.durationMs}`;
    case 'entry':
      return `${event.action} ${event.kind} ${event.path} ${event.dest} ${event.reason ?? ''}`;
    case 'warning':
      return event.warning.message;
    case 'error':
      return event.error.code;
    default:
      return event satisfies never;
  }
}
const job = copyTree('a', 'b', { entries: true });
for await (const event of job) {
  look(event);
  if (event.type === 'entry') {
    // @ts-expect-error an action that there is not
    event.action === 'update';
  }
}
console.log(job.result.files, numbers);

// Codes: unions for completion, and any other code of the system.
const name: { [K in WarningCode]?: string } = { SOCKET_SKIPPED: 'socket' };
export const warned = (warning: CopyWarning): string => name[warning.code] ?? warning.message;
// @ts-expect-error a code that there is not
const wrong: WarningCode = 'SOCKET_SKIPED';
const known: ErrorCode[] = ['ENOENT', 'ERR_FS_CP_EINVAL', 'ERR_FASTCP_DEST_PROTECTED'];
// @ts-expect-error a code that there is not
known.push('ERR_FASTCP_MIROR');
// @ts-expect-error a code of warnings
known.push('SOCKET_SKIPPED');
try {
  await job;
} catch (error) {
  if (!(error instanceof CopyError)) throw error;
  sure<Same<typeof error.path, string | undefined>>(true);
  if (error.code === 'ERR_FASTCP_DEST_PROTECTED' || error.code === 'EOWNERDEAD')
    console.log(error.result?.files, wrong);
}

const { differences } = await compareTrees('a', 'b', { preserve: true, exclude: undefined });
for (const { type, kind, a, b } of differences) console.log(type === 'onlyInA', kind, a, b);

// Ways to import, and the forms of fs-extra.
fs.cpSync('a', 'b', { recursive: true });
// @ts-expect-error only the functions that copy
fs.readFile;
void cpOfPromises('a', 'b', { recursive: true }).then(() => {});
extra.copySync('a', 'b', (src, dest) => src !== dest);
copySync('a', 'b', { overwrite: false, errorOnExist: true, filter: undefined });
void copy('a', 'b', { filter: async (src) => !src.endsWith('.log') }).then(() => {});
void copy('a', 'b', (error) => error?.message);
void copy('a', 'b', { preserveTimestamps: true }, (error) => error?.message);
// @ts-expect-error the filter of copySync() returns no promise
copySync('a', 'b', { filter: async () => true });
