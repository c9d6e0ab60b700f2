import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig, type Rolldown, type UserConfig } from 'tsdown';

// package.json's dependencies stay outside the bundles, devDependencies go in.
const shared: UserConfig = {
  platform: 'node',
  target: 'node20.17',
  outDir: 'dist',
  // import.meta.dirname in CommonJS. All files lie in one directory below the package's root, as lib/ does.
  shims: true,
  plugins: [
    {
      name: 'binaries-stay-outside',
      resolveId: (id: string) => (id.endsWith('.node') ? { id, external: true } : null),
    },
  ],
};

const unpublished: UserConfig = {
  ...shared,
  outDir: 'build',
  format: 'esm',
  outExtensions: () => ({ js: '.mjs' }),
  dts: false,
  clean: false,
  outputOptions: { codeSplitting: false },
};
const commandPackages = [
  'commander',
  'cli-progress',
  // What cli-progress needs.
  'ansi-regex',
  'emoji-regex',
  'is-fullwidth-code-point',
  'string-width',
  'strip-ansi',
];
const runnerPackages = ['commander', 'echarts', 'picomatch', 'tinybench', 'tslib', 'zrender'];

/** Commander loads it for subcommands in files of their own, which we have not; it takes 5 ms. */
const noChildProcess = {
  name: 'no-child-process',
  resolveId: (id: string, importer?: string) =>
    id === 'node:child_process' && importer?.includes('commander') ? '\0no-child-process' : null,
  load: (id: string) => (id === '\0no-child-process' ? 'export default {}' : null),
};

/** The modules that every copy needs, by the beginnings of their paths. They are one file: each further one takes 0.5 ms. */
const everyCopy = [
  'bin/error-text',
  'bin/interrupt',
  'bin/progress.',
  'bin/report.',
  'bin/run',
  'lib/bridge/',
  'lib/builtins',
  'lib/copy-tree',
  'lib/errors/',
  'lib/guard/',
  'lib/io/',
  'lib/job',
  'lib/paths',
  'lib/placement/',
  'lib/request/',
  'lib/root',
  'lib/selection/filter',
  'lib/selection/globs',
  'lib/selection/index',
  'lib/selection/sources',
  'lib/selection/unmatched',
  'lib/selection/unused',
  'lib/selection/verdict',
  'lib/selection/wildmatch',
  'lib/turn',
];
/** Of these, what the command loads only for `--sync` and the like, and what its messages need before a copy. */
const mounts = ['lib/placement/mounts'];
const messages = ['bin/flags', 'bin/format', 'lib/errors/arguments'];
const isOneOf =
  (beginnings: string[]) =>
  (id: string): boolean => {
    const path = relative(import.meta.dirname, id).replaceAll('\\', '/');
    return beginnings.some((beginning) => path.startsWith(beginning));
  };

/**
 * Writes for each entry an ES module that re-exports its CommonJS file. So both ways of loading share one copy of the
 * library, with one class CopyError, and `import` takes half the time: Node loads CommonJS faster.
 */
const esmWrappers = {
  name: 'esm-wrappers',
  generateBundle(this: Rolldown.PluginContext, _options: unknown, bundle: Rolldown.OutputBundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk' || !file.isEntry) continue;
      const names = file.exports.filter((name) => name !== 'default');
      const loader = file.fileName.replace('.cjs', '.load.cjs');
      // Node 20 ends the process if a CommonJS module throws that an ES module imports, even if that import is caught.
      this.emitFile({
        type: 'asset',
        fileName: loader,
        source: `try {\n  exports.library = require('./${file.fileName}');\n} catch (error) {\n  exports.failure = { error };\n}\n`,
      });
      const lines = [
        `import loaded from './${loader}';`,
        'const { library, failure } = loaded;',
        'if (failure) throw failure.error;',
        `export const { ${names.join(', ')} } = library;`,
        ...(names.length < file.exports.length
          ? ['export default library.default ?? library;']
          : []),
      ];
      this.emitFile({
        type: 'asset',
        fileName: file.fileName.replace('.cjs', '.js'),
        source: `${lines.join('\n')}\n`,
      });
    }
  },
};

/** The declarations of both formats differ only in the extension of what they import. */
function copyDeclarations(): void {
  for (const name of readdirSync('dist').filter((one) => one.endsWith('.d.ts'))) {
    const text = readFileSync(`dist/${name}`, 'utf8').replace(/(from "\.\/[^"]+)\.js"/g, '$1.cjs"');
    writeFileSync(`dist/${name.replace('.d.ts', '.d.cts')}`, text);
  }
}

const library: UserConfig = {
  ...shared,
  entry: {
    index: 'lib/index.ts',
    fs: 'lib/fs.ts',
    'fs-promises': 'lib/fs-promises.ts',
    'fs-extra': 'lib/fs-extra.ts',
  },
  fixedExtension: false,
};

export default defineConfig([
  {
    ...library,
    format: 'esm',
    dts: { emitDtsOnly: true },
    hooks: { 'build:done': copyDeclarations },
  },
  {
    ...library,
    format: 'cjs',
    clean: false,
    plugins: [shared.plugins, esmWrappers],
    dts: false,
    // Lines stay, because Node prints the line of an uncaught error.
    minify: { compress: true, mangle: { toplevel: false }, codegen: { removeWhitespace: false } },
    outputOptions: {
      exports: 'named',
      codeSplitting: {
        groups: [
          {
            name: 'copy',
            test: isOneOf([...everyCopy, 'lib/atomic/remove-tree', 'lib/atomic/snapshot']),
          },
        ],
      },
    },
  },
  {
    ...shared,
    // CommonJS: it starts faster than ESM, and can still set UV_THREADPOOL_SIZE in time.
    entry: { fastcp: 'bin/fastcp.ts' },
    plugins: [shared.plugins, noChildProcess],
    format: 'cjs',
    dts: false,
    clean: false,
    // package.json's `sideEffects: false` is for the library: here an import may be there for what it
    // does, as is the one that sets UV_THREADPOOL_SIZE.
    treeshake: { moduleSideEffects: () => true },
    // Compiling it is most of the time that a small copy takes. Modules that are imported late are files of their own.
    // Names at the top level stay, for FASTCP_DEBUG.
    minify: { compress: true, mangle: { toplevel: false }, codegen: { removeWhitespace: true } },
    outputOptions: {
      chunkFileNames: 'command-[name]-[hash].cjs',
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [
          { name: 'options', test: /\/lib\/request\/(table|conflicts)\.ts/, priority: 1 },
          { name: 'mounts', test: isOneOf(mounts), priority: 1 },
          { name: 'messages', test: isOneOf(messages), priority: 1 },
          { name: 'copy', test: isOneOf(everyCopy) },
        ],
      },
    },
    deps: {
      onlyBundle: commandPackages,
    },
  },
  // What writes the documentation, not published.
  {
    ...unpublished,
    entry: { docs: 'scripts/docs/main.ts' },
    deps: { onlyBundle: ['commander'] },
  },
  // The benchmarks, neither: the runner, and the process in which it calls a function.
  { ...unpublished, entry: { bench: 'bench/bench.ts' }, deps: { onlyBundle: runnerPackages } },
  {
    ...unpublished,
    entry: { 'bench-in-process': 'bench/in-process.ts' },
    deps: { onlyBundle: ['tinybench'] },
  },
  // Runs also on a machine that has nothing but Node.
  {
    ...unpublished,
    entry: { 'bench-scaling': 'bench/scaling.ts' },
    deps: { onlyBundle: ['commander', 'picomatch', 'tinybench'] },
  },
]);
