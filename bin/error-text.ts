import type { CopyErrorLike } from '../lib/types.js';
import { escapeControls } from './format.js';

/** The actions of system calls and refusals on one path. */
const actions: Record<string, string | undefined> = {
  ERR_FASTCP_MOUNT_POINT: 'delete',
  unlink: 'delete',
  rmdir: 'delete',
  mkdir: 'create',
};
/** The metadata that a system call sets or removes. With `--strict` each failure is an error. */
const settings: Record<string, string | undefined> = {
  fchown: 'the owner',
  fchmod: 'the mode',
  utimensat: 'the timestamps',
  setxattr: 'an attribute',
  removexattr: 'an attribute',
};

/**
 * Says what failed, on which path, and why: `cannot copy 'a' to 'b': permission denied`. With `detailed` adds
 * code and system call.
 */
export function errorText(
  error: Error & Partial<CopyErrorLike> & { reason?: string },
  verb: 'copy' | 'compare' | 'examine' = 'copy',
  detailed = false,
): string {
  const { path, dest, code, syscall, reason } = error;
  if (reason === undefined || path === undefined) return escapeControls(error.message);
  const call = syscall ?? '';
  const set = settings[call];
  const own = set ? `set ${set} of` : (actions[call] ?? actions[code ?? '']);
  const action = (!dest && own) || verb;
  const setting =
    dest && set ? `: ${set} cannot be ${call === 'removexattr' ? 'removed' : 'set'}` : '';
  const to = dest ? ` ${verb === 'copy' ? 'to' : 'with'} '${dest}'` : '';
  const details = [code, syscall === 'cp' ? undefined : syscall].filter(Boolean).join(', ');
  const what = `cannot ${action} '${path}'${to}: ${reason}${setting}`;
  return escapeControls(detailed && details ? `${what} (${details})` : what);
}
