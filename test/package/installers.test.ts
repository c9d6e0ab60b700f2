import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cacheDirectory } from '../../scripts/tools.mjs';
import {
  beforePackageTests,
  expectCopy,
  makeApp,
  npmApp,
  packFastcp,
  programs,
  run,
  workplace,
} from './support/package.js';

// Other package managers and runtimes, which `npm run test:installers` fetches. They install the tarball
// from a file: no registry is asked.

const tools = join(cacheDirectory, 'installers/node_modules');
const installed = existsSync(join(cacheDirectory, 'installers/installed.json'));
const pnpm = join(tools, 'pnpm/bin/pnpm.cjs');
const yarn = join(tools, '@yarnpkg/cli-dist/bin/yarn.js');
const bun = join(tools, '@oven/bun-linux-x64/bin/bun');
const deno = join(tools, '@deno/linux-x64-glibc/deno');
if (!installed) console.warn('SKIPPED: npm run test:installers fetches what these tests need');

describe.skipIf(!installed)('installed by', () => {
  const { temp, src } = workplace();
  let tarball: string;
  let manifest: string;

  beforePackageTests(() => {
    tarball = packFastcp(temp);
    manifest = JSON.stringify({
      name: 'app',
      private: true,
      dependencies: { fastcp: `file:${tarball}` },
    });
  });

  /** Runs both programs, and the command, each behind the words that its installer puts before. */
  function expectToCopy(app: string, start: string[], command: string[]): void {
    const [file = '', ...args] = start;
    for (const program of Object.keys(programs)) {
      const dest = join(app, `${program}.copy`);
      expect(run(file, [...args, program, src, dest], app)).toBe('2\n');
      expectCopy(dest, src);
    }
    const [first = '', ...others] = command;
    // Rules and --atomic need more of node:fs.
    for (const option of ['-v', '--gitignore', '--atomic']) {
      const dest = join(app, 'new', option);
      const args = [...others, option, src, dest];
      // The shell scripts that pnpm makes of commands need more than a shell.
      expect(run(first, args, app, process.env.PATH)).toContain('2 files, ');
      expectCopy(dest, src);
    }
  }

  test.each(['isolated', 'hoisted'])('pnpm, %s', (linker) => {
    const app = makeApp(join(temp, `pnpm-${linker}`), {
      ...programs,
      'package.json': manifest,
      'pnpm-workspace.yaml': JSON.stringify({
        nodeLinker: linker,
        storeDir: join(temp, 'pnpm-store'),
      }),
    });
    run('node', [pnpm, 'install', '--offline', '--ignore-scripts'], app);
    expectToCopy(app, ['node'], ['node', pnpm, 'exec', 'fastcp']);
  });

  test.each(['pnp', 'node-modules'])('yarn, %s', (linker) => {
    const app = makeApp(join(temp, `yarn-${linker}`), {
      ...programs,
      'package.json': manifest,
      'yarn.lock': '',
      '.yarnrc.yml': JSON.stringify({
        nodeLinker: linker,
        enableNetwork: false,
        enableTelemetry: false,
        enableScripts: false,
        enableGlobalCache: false,
        // On CI Yarn would refuse to write the lock file.
        enableImmutableInstalls: false,
      }),
    });
    run('node', [yarn, 'install'], app);
    expectToCopy(app, ['node', yarn, 'node'], ['node', yarn, 'fastcp']);
  });

  test('bun', () => {
    const app = makeApp(join(temp, 'bun'), { ...programs, 'package.json': manifest });
    run(bun, ['install', '--ignore-scripts', '--cache-dir', join(temp, 'bun-cache')], app);
    expectToCopy(app, [bun], [bun, '--bun', 'run', 'node_modules/fastcp/dist/fastcp.cjs']);
  });

  test('npm, and run by deno', () => {
    const app = makeApp(npmApp(join(temp, 'deno'), tarball), programs);
    expectToCopy(
      app,
      [deno, 'run', '--allow-all', '--node-modules-dir=manual'],
      [deno, 'run', '--allow-all', 'node_modules/fastcp/dist/fastcp.cjs'],
    );
  });
});
