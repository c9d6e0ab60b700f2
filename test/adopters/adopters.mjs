// Runs real tools that copy directories, unmodified and with fastcp in the place of node:fs or fs-extra, on the same
// input: adopters.mjs [TOOL…]. Prints both times, and fails if the trees differ. `npm run test:adopters` installs the tools
// first, pinned by the lock file beside this script.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheDirectory } from '../../scripts/tools.mjs';

const root = join(import.meta.dirname, '../..');
const installed = join(cacheDirectory, 'adopters/node_modules');
const ROUNDS = 3;

/**
 * By name: the files in which the import is swapped, each with the text before and after, and `run(node, project)`, which
 * lets the tool copy `assets` of a project. `out` is where the copy is.
 */
const adopters = {
  'vite-plugin-static-copy': {
    swaps: [
      ['vite-plugin-static-copy/dist/index.js', 'await fs.cp(', 'await cp('],
      [
        'vite-plugin-static-copy/dist/index.js',
        'import fs from "node:fs/promises";',
        'import fs from "node:fs/promises"; import { cp } from "fastcp/fs/promises";',
      ],
    ],
    make(project) {
      writeFileSync(join(project, 'index.html'), '<script type="module" src="/main.js"></script>');
      writeFileSync(join(project, 'main.js'), 'document.title = "x";');
      writeFileSync(
        join(project, 'vite.config.mjs'),
        `import { viteStaticCopy } from 'vite-plugin-static-copy';
         const targets = [{ src: 'assets', dest: 'static' }];
         export default { logLevel: 'silent', plugins: [viteStaticCopy({ targets, silent: true })] };`,
      );
    },
    command: ['node_modules/vite/bin/vite.js', 'build'],
    out: 'dist/static',
  },
  'rollup-plugin-copy': {
    swaps: [
      [
        'rollup-plugin-copy/dist/index.commonjs.js',
        "require('fs-extra')",
        "Object.assign({}, require('fs-extra'), require('fastcp/fs-extra'))",
      ],
    ],
    make(project) {
      writeFileSync(
        join(project, 'copy.cjs'),
        `require('rollup-plugin-copy')({ targets: [{ src: 'assets', dest: 'out' }] }).buildEnd();`,
      );
    },
    command: ['copy.cjs'],
    out: 'out',
  },
  'create-docusaurus': {
    swaps: [
      ['create-docusaurus/lib/index.js', 'await fs.cp(', 'await cp('],
      [
        'create-docusaurus/lib/index.js',
        "import * as fs from 'node:fs/promises';",
        "import * as fs from 'node:fs/promises'; import { cp } from 'fastcp/fs/promises';",
      ],
    ],
    make() {},
    command: [
      ...['node_modules/create-docusaurus/bin/index.js', 'site', 'classic'],
      ...['--javascript', '--skip-install', '--package-manager', 'npm'],
    ],
    out: 'site',
  },
  '@capacitor/cli': {
    swaps: [
      [
        '@capacitor/cli/dist/tasks/copy.js',
        'require("fs-extra")',
        'Object.assign({}, require("fs-extra"), require("fastcp/fs-extra"))',
      ],
    ],
    make(project) {
      mkdirSync(join(project, 'android/app/src/main/assets'), { recursive: true });
      writeFileSync(join(project, 'assets/index.html'), '<head></head>');
      const config = { appId: 'com.example.app', appName: 'app', webDir: 'assets' };
      writeFileSync(join(project, 'capacitor.config.json'), JSON.stringify(config));
      const dependencies = { '@capacitor/android': '7', '@capacitor/core': '7' };
      writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'app', dependencies }));
    },
    command: ['node_modules/@capacitor/cli/bin/capacitor', 'copy', 'android'],
    out: 'android/app/src/main/assets',
  },
};

const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(adopters);
const work = mkdtempSync(join(tmpdir(), 'fastcp-adopters-'));
const copied = join(work, 'copied');
const hook = join(work, 'hook.cjs');
// The addon is loaded by the first copy.
writeFileSync(
  hook,
  `const { readFileSync, writeFileSync } = require('node:fs');
   process.on('exit', () => {
     if (/fastcp\\.node/.test(readFileSync('/proc/self/maps'))) writeFileSync('${copied}', '');
   });`,
);
try {
  const modules = { unmodified: installed, fastcp: swapAll() };
  console.log(`${'tool'.padEnd(26)}${'unmodified'.padStart(12)}${'with fastcp'.padStart(13)}`);
  for (const name of chosen) tryOne(name, modules);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Returns a copy of all tools in which the imports are swapped. */
function swapAll() {
  const swapped = join(work, 'swapped/node_modules');
  cpSync(installed, swapped, { recursive: true, verbatimSymlinks: true });
  symlinkSync(root, join(swapped, 'fastcp'));
  for (const [file, before, after] of chosen.flatMap((name) => adopters[name].swaps)) {
    const path = join(swapped, file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(before)) throw new Error(`${file} no longer has ${before}`);
    writeFileSync(
      path,
      text.replaceAll(before, () => after),
    );
  }
  return swapped;
}

function tryOne(name, modules) {
  const { make, command, out } = adopters[name];
  const times = { unmodified: [], fastcp: [] };
  const listings = new Set();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [which, from] of Object.entries(modules)) {
      // The same path for both, because some tools write it into files.
      const project = join(work, 'project');
      for (const path of [project, copied]) rmSync(path, { recursive: true, force: true });
      makeProject(project, from);
      make(project);
      const options = { CI: 'true', NO_COLOR: '1', CAPACITOR_TELEMETRY: '0' };
      const env = { ...process.env, ...options, NODE_OPTIONS: `--require=${hook}` };
      const began = performance.now();
      execFileSync(process.execPath, command, { cwd: project, env, stdio: ['ignore', 'pipe', 2] });
      times[which].push(performance.now() - began);
      if (!existsSync(join(project, out))) throw new Error(`${name} made no ${out}`);
      if (existsSync(copied) !== (which === 'fastcp')) {
        throw new Error(
          `${name}, ${which}: fastcp ${existsSync(copied) ? 'copied' : 'did not copy'}`,
        );
      }
      listings.add(listingOf(join(project, out)));
    }
  }
  if (listings.size !== 1) throw new Error(`${name}: the trees differ`);
  const [a = ''] = listings;
  const entries = a.split('\n').filter((line) => line.startsWith('.')).length;
  const best = (list) => `${Math.round(Math.min(...list))} ms`;
  const [plain, own] = [best(times.unmodified), best(times.fastcp)];
  console.log(
    `${name.padEnd(26)}${plain.padStart(12)}${own.padStart(13)}   ${entries} entries, equal`,
  );
}

function listingOf(cwd) {
  const listing = 'find . -printf "%p %M %l\\n" | sort; find . -type f -exec cksum {} + | sort';
  return execFileSync('sh', ['-c', listing], { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });
}

/** A project with 2,000 files in 100 directories, a mode, and names with a dot; symlinks only below one of them. */
function makeProject(project, modules) {
  for (let directory = 0; directory < 100; directory++) {
    const at = join(project, 'assets', `${directory % 10}`, `${directory}`);
    mkdirSync(at, { recursive: true });
    for (let file = 0; file < 20; file++) {
      writeFileSync(join(at, `${file}.txt`), `${directory}/${file}\n`.repeat(file * 40));
    }
  }
  writeFileSync(join(project, 'assets/script.sh'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(project, 'assets/.hidden'), '');
  symlinkSync('/etc/hostname', join(project, 'assets/0/absolute'));
  symlinkSync(modules, join(project, 'node_modules'));
}
