import type { CopyErrorLike } from '../lib/types.js';
import { escapeControls } from './format.js';
import { asOptions } from './usage-error.js';

const removals = ['unlink', 'rmdir'];

/**
 * Says what failed, on which path, and why: `cannot copy 'a' to 'b': permission denied`. With `detailed` adds
 * code and system call.
 */
export function errorText(
  error: Error & Partial<CopyErrorLike> & { reason?: string },
  verb: 'copy' | 'compare' | 'examine' = 'copy',
  detailed = false,
): string {
  const { reason, path, dest, code, syscall } = error;
  if (reason === undefined || path === undefined) return escapeControls(asOptions(error.message));
  const isRemoval = !dest && removals.includes(syscall ?? '');
  const to = dest ? ` ${verb === 'copy' ? 'to' : 'with'} '${dest}'` : '';
  const details = [code, syscall === 'cp' ? undefined : syscall].filter(Boolean).join(', ');
  const what = `cannot ${isRemoval ? 'delete' : verb} '${path}'${to}: ${reason}`;
  return escapeControls(detailed && details ? `${what} (${details})` : what);
}
