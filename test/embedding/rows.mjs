// The table. A row: `name`; `project(p)`, which makes a project and returns what happened; what is `expected`; `quick: false`
// if it is like another row; `needs`, a file without which it is skipped; `fails`, why it is expected to fail.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cacheDirectory } from '../../scripts/tools.mjs';

const node = process.execPath;
const tools = join(cacheDirectory, 'embedding/node_modules');
const runtimes = join(cacheDirectory, 'installers/node_modules');
const bun = join(runtimes, '@oven/bun-linux-x64/bin/bun');
const deno = join(runtimes, '@deno/linux-x64-glibc/deno');
const nodes = Object.fromEntries(
  [22, 24, 26].map((version) => [version, join(runtimes, `node-${version}/bin/node`)]),
);
const load = createRequire(join(tools, 'any.cjs'));

// Programs that exercise fastcp: `before` runs first, in the same file.
const cjs = (before = '', after = '') => `${before}
  const exercise = require('../exercise.cjs');
  const fastcp = require('fastcp');
  const fastcpFs = require('fastcp/fs');
  ${after}`;
const esm = (before = '', after = '') => `${before}
  import exercise from '../exercise.cjs';
  import * as fastcp from 'fastcp';
  import * as fastcpFs from 'fastcp/fs';
  ${after}`;
const call = (rest = '') => `exercise(fastcp, fastcpFs, process.env.DIRECTORY${rest})`;
const end = (rest) =>
  `${call(rest)}.catch((error) => { console.error(error); process.exitCode = 1; });`;
const plain = cjs('', end());
const timed = "test('fastcp', () => RUN, 35_000);".replace('RUN', call());

/** A row whose program is one file. */
const program = (name, file, text, words, more = {}) => ({
  name,
  ...more,
  async project(p) {
    p.write({ [file]: text, ...more.files });
    return p.exercised([...words, p.path(file)], { env: { DIRECTORY: p.directory, ...more.env } });
  },
});

const jest = (
  name,
  test,
  { config = {}, file = 'one.test.js', flags = [], files = {}, ...more } = {},
) => ({
  name,
  ...more,
  async project(p) {
    const whole = { rootDir: p.directory, cacheDirectory: p.path('cache'), ...config };
    p.write({ [file]: test, 'jest.config.json': whole, ...files });
    const words = [
      node,
      ...flags,
      join(tools, 'jest/bin/jest.js'),
      '--runInBand',
      '--config',
      p.path('jest.config.json'),
    ];
    return p.exercised(words, { env: { DIRECTORY: p.directory } });
  },
});

const vitest = (pool, more = {}) => ({
  name: `Vitest, pool ${pool}${more.title ?? ''}`,
  ...more,
  async project(p) {
    const test = `import { test, vi } from 'vitest'; ${esm('', '')}
      ${more.before ?? ''} ${timed}`;
    p.write({
      'one.test.mjs': test,
      'vitest.config.mjs': `export default { test: { pool: '${pool}' } };`,
    });
    const words = [node, join(tools, 'vitest/vitest.mjs'), 'run', '--root', p.directory];
    return p.exercised(words, { env: { DIRECTORY: p.directory } });
  },
});

const runners = [
  jest('Jest, CommonJS', cjs('', timed)),
  jest('Jest, ES modules', esm('', timed), {
    file: 'one.test.mjs',
    flags: ['--experimental-vm-modules', '--no-warnings'],
    config: { testMatch: ['**/*.test.mjs'], transform: {} },
  }),
  jest('Jest with jsdom', cjs('', timed), { config: { testEnvironment: 'jsdom' } }),
  jest('Jest, fake timers', cjs('', `beforeEach(() => { jest.useFakeTimers(); });\n${timed}`)),
  jest('Jest, fake timers for all tests', cjs('', timed), {
    quick: false,
    config: { fakeTimers: { enableGlobally: true } },
  }),
  jest(
    "Jest, jest.mock('fs') with memfs",
    cjs(
      "jest.mock('fs', () => require('memfs').fs);",
      `test('fastcp', () => {});
    require('node:process').getBuiltinModule('node:fs').writeFileSync(process.env.DIRECTORY + '/exercised.json', '[]');`,
    ),
  ),
  vitest('threads', { quick: false }),
  vitest('forks'),
  vitest('vmThreads'),
  vitest('vmForks', { quick: false }),
  vitest('threads', {
    title: ', fake timers',
    before:
      "vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'hrtime', 'Date'] });",
  }),
  program('mocha', 'one.test.cjs', cjs('', `it('fastcp', () => ${call()}).timeout(35000);`), [
    node,
    join(tools, 'mocha/bin/mocha.js'),
  ]),
  program(
    'mocha, sinon.useFakeTimers()',
    'one.test.cjs',
    cjs(
      "const clock = require('sinon').useFakeTimers;",
      `it('fastcp', function () {
      this.timeout(0);
      const fake = clock({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'hrtime'] });
      return ${call()}.finally(() => fake.restore());
    });`,
    ),
    [node, join(tools, 'mocha/bin/mocha.js')],
  ),
  {
    name: 'ava',
    async project(p) {
      p.write({
        'package.json': { type: 'module' },
        'one.test.js': `import test from 'ava'; ${esm()} test('fastcp', async (t) => { await ${call()}; t.pass(); });`,
      });
      const words = [
        node,
        join(tools, 'ava/entrypoints/cli.mjs'),
        '--timeout=35s',
        '--no-worker-threads',
      ];
      return p.exercised(words, { env: { DIRECTORY: p.directory } });
    },
  },
  program(
    'node:test',
    'one.test.cjs',
    cjs("const { test } = require('node:test');", `test('fastcp', () => ${call()});`),
    [node, '--test'],
    { quick: false },
  ),
  program(
    'node:test, mock.timers.enable()',
    'one.test.cjs',
    cjs(
      "const { mock, test } = require('node:test');",
      `test('fastcp', () => { mock.timers.enable(); return ${call()}; });`,
    ),
    [node, '--test'],
  ),
];

const polyfill = (name, file, make) =>
  program(
    `a signal of ${name}`,
    file,
    `const { copyTree } = require('fastcp');
     const fs = require('node:fs');
     ${make}
     const directory = process.env.DIRECTORY;
     (async () => {
       const controller = new Polyfill();
       await copyTree(directory, directory + '.copy', { signal: controller.signal });
       const job = copyTree(directory, directory + '.copy', { signal: controller.signal, filter: () => controller.abort() ?? true });
       const error = await job.catch((thrown) => thrown);
       fs.writeFileSync(directory + '/exercised.json', JSON.stringify(error.name === 'AbortError' ? [] : [String(error.message)]));
     })().catch((error) => fs.writeFileSync(directory + '/exercised.json', JSON.stringify([error.message])));`,
    [node],
  );

const surroundings = [
  program('zone.js, loaded before', 'one.cjs', cjs("require('zone.js/node');", end()), [node]),
  program(
    'zone.js, loaded later',
    'one.cjs',
    cjs('', `require('zone.js/node'); ${end()}`),
    [node],
    { quick: false },
  ),
  {
    name: 'mock-fs, which fastcp does not see',
    expected: 'the real disk',
    async project(p) {
      p.write({ 'real/file': 'real' });
      p.write({
        'one.cjs': `const { copyTree } = require('fastcp');
          require('mock-fs')({ [process.argv[2] + '/real/file']: 'mocked' });
          copyTree(process.argv[2] + '/real', process.argv[2] + '/copy').then(
            () => require('mock-fs').restore(), (error) => { require('mock-fs').restore(); console.log(error.message); });`,
      });
      const { output } = await p.run([node, p.path('one.cjs'), p.directory]);
      return (
        output.trim() ||
        (readFileSync(p.path('copy/file'), 'utf8') === 'real' ? 'the real disk' : 'another')
      );
    },
  },
  program('v8-compile-cache', 'one.cjs', plain, [node, '-r', 'v8-compile-cache'], { quick: false }),
  polyfill('abort-controller 3', 'one.cjs', "const Polyfill = require('abort-controller');"),
  polyfill(
    '@azure/abort-controller 1',
    'one.cjs',
    "const { AbortController: Polyfill } = require('@azure/abort-controller');",
  ),
  polyfill(
    'jsdom 20',
    'one.cjs',
    "const Polyfill = new (require('jsdom').JSDOM)().window.AbortController;",
  ),
  program('npm_config_arch=arm64', 'one.cjs', plain, [node], { env: { npm_config_arch: 'arm64' } }),
  program('npm_config_platform=win32', 'one.cjs', plain, [node], {
    env: { npm_config_platform: 'win32' },
    quick: false,
  }),
  program('LIBC=musl', 'one.cjs', plain, [node], { env: { LIBC: 'musl' }, quick: false }),
  {
    name: 'from(job) of RxJS, Readable.from(job)',
    expected: 'the result, events',
    async project(p) {
      p.write({
        'src/file': 'x',
        'one.mjs': `import { copyTree } from 'fastcp'; import { from } from 'rxjs'; import { Readable } from 'node:stream';
          from(copyTree('src', 'one')).subscribe(async (value) => {
            const events = await Readable.from(copyTree('src', 'two', { entries: true })).toArray();
            console.log([value.files === 1 && 'the result', events.some((one) => one.type === 'entry') && 'events'].join(', '));
          });`,
      });
      return p.said([node, 'one.mjs']);
    },
  },
  {
    name: "the stack of a rejection has the caller's line first",
    expected: /^at theCaller /,
    async project(p) {
      p.write({
        'one.mjs': `import { copyTree } from 'fastcp';
          async function theCaller() { await copyTree('missing', 'dest'); }
          theCaller().catch(({ stack }) => console.log(stack.split('\\n')[1].trim()));`,
      });
      return (await p.run([node, 'one.mjs'])).output.trim();
    },
  },
  {
    name: 'two installed copies in one process',
    expected: /^stat waits at most 100 ms$/,
    async project(p) {
      cpSync(p.package, p.path('node_modules/fastcp'), { recursive: true });
      for (let i = 0; i < 400; i++) p.write({ [`src/${i % 20}/${i}`]: 'x'.repeat(1 << 20) });
      p.write({
        'one.cjs': `const one = require('fastcp'); const other = require(process.argv[2]);
          const { promises } = require('node:fs');
          const jobs = [one, other].flatMap((lib, n) => [0, 1, 2].map((i) => lib.copyTree('src', 'dest-' + n + i, { reflink: 'never' })));
          let over = false, longest = 0;
          Promise.all(jobs).finally(() => { over = true; });
          (async () => {
            while (!over) { const began = Date.now(); await promises.stat('.'); longest = Math.max(longest, Date.now() - began); }
            console.log(longest < 100 ? 'stat waits at most 100 ms' : 'stat waits ' + longest + ' ms');
          })();`,
      });
      return p.said([node, 'one.cjs', p.package]);
    },
  },
];

const permission = (version, flag, quick) => {
  const which = version === 20 ? node : nodes[version];
  const flags = (p, write) => [
    which,
    flag,
    '--allow-addons',
    '--allow-child-process',
    `--allow-fs-read=${p.app}/*`,
    `--allow-fs-write=${write}`,
  ];
  return [
    {
      name: `Node ${version} with ${flag}, project allowed`,
      needs: which,
      quick,
      async project(p) {
        p.write({
          'src/file': 'x',
          'one.cjs':
            "require('fastcp').copyTree('src', 'dest').then(({ files }) => console.log('copied', files), ({ message }) => console.log(message));",
        });
        const said = await p.said([...flags(p, `${p.app}/*`), '--no-warnings', 'one.cjs']);
        return said === 'copied 1' ? 'works' : said;
      },
    },
    {
      name: `Node ${version} with ${flag}, DEST not allowed`,
      needs: which,
      quick,
      expected: /^ERR_ACCESS_DENIED: (?!.*undefined).*'.*\/not allowed.*'$/,
      async project(p) {
        p.write({
          'src/file': 'x',
          'one.cjs':
            "require('fastcp').copyTree('src', '/tmp/not allowed/x').then(() => console.log('copied'), ({ message }) => console.log(message));",
        });
        return p.said([...flags(p, `${p.app}/*`), '--no-warnings', 'one.cjs']);
      },
    },
  ];
};

const engines = [
  program('Node 20', 'one.cjs', plain, [node]),
  ...[22, 24, 26].map((version) =>
    program(`Node ${version}`, 'one.cjs', plain, [nodes[version]], {
      needs: nodes[version],
      quick: version === 26,
    }),
  ),
  ...permission(20, '--experimental-permission', false),
  ...permission(24, '--permission', true),
  program('Bun', 'one.cjs', plain, [bun], { needs: bun }),
  program('Deno', 'one.cjs', plain, [deno, 'run', '--allow-all', '--node-modules-dir=manual'], {
    needs: deno,
  }),
  {
    name: 'Deno without --allow-ffi',
    needs: deno,
    expected: /^(?!.*no binary for)(?=.*does not load)(?=.*ffi).*$/,
    async project(p) {
      p.write({
        'one.cjs':
          "try { require('fastcp'); } catch ({ message }) { console.log(message.split('\\n')[0]); }",
      });
      return p.said([
        deno,
        'run',
        '--allow-read',
        '--allow-env',
        '--allow-sys',
        '--node-modules-dir=manual',
        'one.cjs',
      ]);
    },
  },
  {
    name: 'a single executable application of Node',
    needs: nodes[26],
    quick: false,
    expected: /^(?!.*no binary for)fastcp was bundled, .*\.node/,
    async project(p) {
      const { build } = load('esbuild');
      p.write({
        'one.cjs':
          "try { require('fastcp'); } catch ({ message }) { console.log(message.split('\\n')[0]); }",
      });
      await build({
        entryPoints: [p.path('one.cjs')],
        bundle: true,
        platform: 'node',
        external: ['*.node'],
        outfile: p.path('bundle.cjs'),
        logLevel: 'silent',
      });
      p.write({
        'sea.json': { main: 'bundle.cjs', output: 'program', disableExperimentalSEAWarning: true },
      });
      const built = await p.run([nodes[26], '--build-sea', 'sea.json']);
      if (built.status !== 0) return built.output;
      return p.said([p.path('program')]);
    },
  },
];

const entry = `import { copyTree } from 'fastcp';
  import { promises } from 'fastcp/fs';
  import { copySync } from 'fastcp/fs-extra';
  const [src, dest] = process.argv.slice(2);
  const copies = async () => {
    await copyTree(src, dest + '/1');
    await promises.cp(src, dest + '/2', { recursive: true });
    copySync(src, dest + '/3');
  };
  copies().catch((error) => { console.error(error); process.exitCode = 1; });`;
const outside = /^fastcp(\/|$)/;
const promised = (run) =>
  new Promise((resolve, reject) => {
    run((error, stats) =>
      error || stats.hasErrors()
        ? reject(error ?? new Error(stats.toString({ all: false, errors: true })))
        : resolve(),
    );
  });
const webpackConfig = (p, external) => ({
  mode: 'production',
  target: 'node',
  context: p.directory,
  entry: './entry.mjs',
  output: { path: p.path('out'), filename: 'main.cjs', library: { type: 'commonjs2' } },
  ...(external && { externalsType: 'commonjs', externals: [outside] }),
});

/** By name: bundles entry.mjs of a project, and returns the file. */
const bundlers = {
  async esbuild(p, external) {
    const outfile = p.path('out/main.cjs');
    const options = external ? { external: ['fastcp', 'fastcp/*'] } : {};
    await load('esbuild').build({
      entryPoints: [p.path('entry.mjs')],
      bundle: true,
      platform: 'node',
      outfile,
      logLevel: 'silent',
      ...options,
    });
    return outfile;
  },
  async rollup(p, external) {
    const file = p.path('out/main.mjs');
    const plugins = [
      load('@rollup/plugin-node-resolve').default({ preferBuiltins: true }),
      load('@rollup/plugin-commonjs')(),
    ];
    const bundle = await load('rollup').rollup({
      input: p.path('entry.mjs'),
      plugins,
      onwarn() {},
      ...(external && { external: outside }),
    });
    await bundle.write({ file, format: 'esm' });
    return file;
  },
  async webpack(p, external) {
    await promised((done) => load('webpack')(webpackConfig(p, external), done));
    return p.path('out/main.cjs');
  },
  async rspack(p, external) {
    const { rspack } = await import(pathOf('@rspack/core'));
    await promised((done) => rspack(webpackConfig(p, external), done));
    return p.path('out/main.cjs');
  },
  async rolldown(p, external) {
    const { rolldown } = await import(pathOf('rolldown'));
    const file = p.path('out/main.mjs');
    const bundle = await rolldown({
      input: p.path('entry.mjs'),
      platform: 'node',
      logLevel: 'silent',
      ...(external && { external: outside }),
    });
    await bundle.write({ file, format: 'esm' });
    return file;
  },
  async 'vite build --ssr'(p, external) {
    const { build } = await import(pathOf('vite'));
    await build({
      root: p.directory,
      logLevel: 'silent',
      build: { ssr: 'entry.mjs', outDir: 'out' },
      ssr: external ? { external: ['fastcp'] } : { noExternal: true },
    });
    return p.path('out/entry.js');
  },
  async 'vite build, library'(p, external) {
    const { build } = await import(pathOf('vite'));
    const rollupOptions = { external: external ? [outside, /^node:/] : [/^node:/] };
    await build({
      root: p.directory,
      logLevel: 'silent',
      build: {
        lib: { entry: 'entry.mjs', formats: ['es'], fileName: 'main' },
        outDir: 'out',
        rollupOptions,
      },
    });
    return p.path('out/main.js');
  },
  async ncc(p, external) {
    const options = {
      externals: external ? { '/^fastcp(\\/.*)?$/': '$0' } : {},
      cache: false,
      quiet: true,
    };
    const { code, assets } = await load('@vercel/ncc')(p.path('entry.mjs'), options);
    for (const [name, { source }] of Object.entries({ ...assets, 'index.mjs': { source: code } })) {
      mkdirSync(dirname(p.path('out', name)), { recursive: true });
      writeFileSync(p.path('out', name), source);
    }
    return p.path('out/index.mjs');
  },
};

/** Finds an ES module of the tools. */
function pathOf(name) {
  const { exports, main, module } = JSON.parse(
    readFileSync(join(tools, name, 'package.json'), 'utf8'),
  );
  const at = exports?.['.'] ?? module ?? main;
  const find = (value) =>
    typeof value === 'string'
      ? value
      : find(value.import ?? value.node ?? value.default ?? value.require);
  return join(tools, name, find(at));
}

const bundling = Object.entries(bundlers).flatMap(([bundler, bundle]) => [
  {
    name: `${bundler}, fastcp external`,
    async project(p) {
      p.write({ 'entry.mjs': entry, 'package.json': { type: 'module' } });
      return p.copied([node, await bundle(p, true)]);
    },
  },
  {
    name: `${bundler}, bundled in`,
    quick: ['esbuild', 'ncc'].includes(bundler),
    expected:
      bundler === 'ncc'
        ? 'works'
        : /^(failed: |status \d+: )[\s\S]*(fastcp was bundled|prebuilds\/[\s\S]*\.node)/,
    async project(p) {
      p.write({ 'entry.mjs': entry, 'package.json': { type: 'module' } });
      return p.copied([node, await bundle(p, false)]);
    },
  },
]);

const tracing = ['entry.mjs', 'entry.cjs'].map((file) => ({
  name: `@vercel/nft, ${file}`,
  async project(p) {
    const text = file.endsWith('mjs')
      ? entry
      : entry.replace(/import (.*) from ('.*');/g, 'const $1 = require($2);');
    p.write({ [file]: text });
    const { fileList } = await load('@vercel/nft').nodeFileTrace([p.path(file)], { base: p.app });
    for (const traced of fileList)
      cpSync(join(p.app, traced), p.path('traced', traced), { recursive: true });
    const at = p.path('traced', p.directory.slice(p.app.length + 1), file);
    return p.copied([node, at]);
  },
}));

const typed = `import { copyTree, type CopyOptions, type CopyResult } from 'fastcp';
  import { cp, promises } from 'fastcp/fs';
  import { cp as again } from 'fastcp/fs/promises';
  import { copy } from 'fastcp/fs-extra';
  export const options: CopyOptions = { gitignore: true };
  export const result: Promise<CopyResult> = copyTree('a', 'b', options);
  export const all: unknown[] = [cp, promises, again, copy];
  // @ts-expect-error: there is no such option
  copyTree('a', 'b', { gitIgnored: true });`;
const types = [
  ['5.0', 'node10'],
  ['5.0', 'node16'],
  ['5.0', 'bundler'],
  ['5.9', 'node10'],
  ['5.9', 'nodenext'],
  ['6.0', 'nodenext'],
  ['6.0', 'bundler'],
].map(([version, moduleResolution]) => ({
  name: `TypeScript ${version}, moduleResolution ${moduleResolution}`,
  quick: version === '5.0' && moduleResolution === 'node10',
  async project(p) {
    const module = { node10: 'commonjs', bundler: 'esnext' }[moduleResolution] ?? moduleResolution;
    const compilerOptions = {
      module,
      moduleResolution,
      target: 'es2022',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: ['./types'],
    };
    p.write({ 'one.ts': typed, 'tsconfig.json': { compilerOptions, files: ['one.ts'] } });
    // Those of this project: the newest ones need a newer compiler.
    mkdirSync(p.path('types'));
    symlinkSync(join(import.meta.dirname, '../../node_modules/@types/node'), p.path('types/node'));
    const { status, output } = await p.run([
      node,
      join(tools, `typescript-${version}/lib/tsc.js`),
      '-p',
      '.',
    ]);
    return status === 0 ? 'works' : output.trim();
  },
}));

export const rows = [...runners, ...surroundings, ...engines, ...bundling, ...tracing, ...types];
