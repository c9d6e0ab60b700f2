import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where the scripts keep what is large and can be fetched again. */
export const cacheDirectory =
  process.env.FASTCP_CACHE ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fastcp');
