import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '../../../scripts/tools.mjs';
import { nodes } from '../../behaviour/support/child.js';

const others = ['node-22', 'node-24', 'node-26'];
const installed = others
  .map((name) => join(cacheDirectory, 'installers/node_modules', name, 'bin/node'))
  .filter((path) => existsSync(path));
if (installed.length < others.length) {
  console.warn(
    'SKIPPED: Node 22, 24 and 26, which node scripts/install.mjs test/package/installers fetches',
  );
}

/** The versions of Node with which fastcp/fs is compared. The newest decides what is right. */
export const versions = [...nodes.map(({ path }) => path), ...installed];
export const newest = installed.find((path) => path.includes('node-26'));
