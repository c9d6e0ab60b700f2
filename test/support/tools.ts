import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { addMissingCompiler, cacheDirectory } from '../../scripts/tools.mjs';
import { hasTool, isRoot } from './work.js';

/** The programs that tests run, by the package of Debian that has them. .ci/run installs the packages. */
const tools: Record<string, string> = {
  bindfs: 'bindfs',
  'btrfs-progs': 'mkfs.btrfs',
  e2fsprogs: 'mkfs.ext4',
  'erofs-utils': 'mkfs.erofs',
  'exfat-fuse': 'mount.exfat-fuse',
  exfatprogs: 'mkfs.exfat',
  fish: 'fish',
  'g++': 'g++',
  git: 'git',
  'man-db': 'man',
  mandoc: 'mandoc',
  'ntfs-3g': 'ntfs-3g',
  'python3-venv': 'python3',
  rsync: 'rsync',
  'squashfs-tools': 'mksquashfs',
  strace: 'strace',
  tmux: 'tmux',
  acl: 'setfacl',
  attr: 'setfattr',
  'util-linux': 'losetup',
  wine: 'wine',
  xfsprogs: 'mkfs.xfs',
  zsh: 'zsh',
};

/**
 * Lists once, before all tests, the tools that this machine lacks. Each skipped test also names its own. If there is no
 * compiler, Zig is used, which then also built the addon.
 */
export default async function setup(): Promise<void> {
  // Vitest calls this for each project of vitest.config.ts.
  if (process.platform !== 'linux' || process.env.FASTCP_TOOLS_TOLD) return;
  process.env.FASTCP_TOOLS_TOLD = '1';
  await addMissingCompiler().catch(() => {}); // without a network
  const packages = Object.keys(tools).filter((name) => !hasTool(tools[name] ?? ''));
  const missing = [
    !isRoot && 'root, to mount file systems',
    packages.length > 0 && `${packages.sort().join(' ')} (packages of Debian)`,
    !existsSync(join(cacheDirectory, 'installers/installed.json')) &&
      'Node 22, 24 and 26 (node scripts/install.mjs test/package/installers)',
  ].filter(Boolean);
  if (missing.length > 0)
    console.warn(`Some tests are skipped here. They need:\n  ${missing.join('\n  ')}`);
}
