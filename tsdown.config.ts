import { defineConfig, type UserConfig } from 'tsdown';

// package.json's dependencies stay outside the bundles, devDependencies go in.
const shared: UserConfig = {
  platform: 'node',
  target: 'node20.17',
  outDir: 'dist',
  // import.meta.dirname in CommonJS. All files lie in one directory below the package's root, as lib/ does.
  shims: true,
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

export default defineConfig([
  {
    ...shared,
    entry: {
      index: 'lib/index.ts',
      fs: 'lib/fs.ts',
      'fs-promises': 'lib/fs-promises.ts',
      'fs-extra': 'lib/fs-extra.ts',
    },
    format: ['esm', 'cjs'],
    fixedExtension: false,
    dts: true,
    outputOptions: { exports: 'named' },
  },
  {
    ...shared,
    // CommonJS: it starts faster than ESM, and can still set UV_THREADPOOL_SIZE in time.
    entry: { fastcp: 'bin/fastcp.ts' },
    plugins: [noChildProcess],
    format: 'cjs',
    dts: false,
    clean: false,
    // package.json's `sideEffects: false` is for the library: here an import may be there for what it
    // does, as is the one that sets UV_THREADPOOL_SIZE.
    treeshake: { moduleSideEffects: () => true },
    // Compiling it is most of what `--version` takes. What is imported late is a file of its own; names
    // stay, for FASTCP_DEBUG.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    outputOptions: { chunkFileNames: 'command-[name]-[hash].cjs' },
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
]);
