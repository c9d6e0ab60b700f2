import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadBinary } from '../../lib/bridge/load-binary.js';
import { workDirectory } from '../support/work.js';

const work = workDirectory('load-binary');
const root = join(import.meta.dirname, '../..');
const here = `${process.platform}-${process.arch}`;
const code = `try {
    const fastcp = require(process.argv[1]);
    console.log('loaded', Object.keys(fastcp).length);
  } catch ({ code, message, cause }) { console.log(code, cause?.code, message); }`;

/** A package as it is installed, with these files as binaries. Returns what loading it prints. */
function loading(
  name: string,
  binaries: string[],
  { flags = [] as string[], env = {}, packageName = 'fastcp' } = {},
): string {
  const app = join(work, name);
  cpSync(join(root, 'dist'), join(app, 'dist'), { recursive: true });
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name: packageName }));
  for (const file of binaries.map((file) => join(app, file))) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'no binary');
  }
  const { stdout } = spawnSync(process.execPath, [...flags, '-e', code, join(app, 'dist')], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return stdout;
}

test('a package with binaries of other systems names them', () => {
  const others = ['aix-ppc64/fastcp.node', 'plan9-mips/fastcp.glibc.node'];
  const said = loading(
    'others',
    others.map((file) => `prebuilds/${file}`),
  );
  expect(said).toMatch(
    new RegExp(`^ERR_FASTCP_NO_BINARY MODULE_NOT_FOUND fastcp has no binary for ${here} \\(glibc\\)\\.
Binaries of this package: aix-ppc64, plan9-mips \\(glibc\\)\\.
.*npm run build:native.*FASTCP_PREBUILD`),
  );
});

test('a package that was installed without binaries says so', () => {
  expect(loading('none', [])).toContain('package: none: it was installed without them.');
});

test('a wrong FASTCP_PREBUILD is named, and an import can catch the error', () => {
  const library = join(import.meta.dirname, '../../dist/index.js');
  const code = `await import(${JSON.stringify(library)}).catch((error) => console.log(error.message)); console.log('goes on');`;
  const env = { ...process.env, FASTCP_PREBUILD: '/nowhere' };
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    env,
  });
  expect(child).toMatchObject({ status: 0, stderr: '' });
  expect(child.stdout).toBe(
    "fastcp cannot run: FASTCP_PREBUILD is '/nowhere', where build/Release/fastcp.node is missing.\ngoes on\n",
  );
});

test("with only another C library's binary, the error says which one is missing", () => {
  const said = loading('libc', [`prebuilds/${here}/fastcp.musl.node`]);
  expect(said).toContain(
    `no binary for ${here} (glibc).\nBinaries of this package: ${here} (musl).`,
  );
});

test('a binary that does not load is named with the reason in the first line', () => {
  const file = `prebuilds/${here}/fastcp.glibc.node`;
  const [first] = loading('broken', [file]).split('\n');
  expect(first).toMatch(/^ERR_FASTCP_NO_BINARY ERR_DLOPEN_FAILED .*its binary does not load: /);
  expect(first).toContain(file);
});

test.each([
  ['of an installation for another system', { npm_config_arch: 'arm64' }],
  ['of an installation for another system', { npm_config_platform: 'win32' }],
  ['of a build for musl', { LIBC: 'musl' }],
])('a variable %s chooses no other binary: %o', (_, env) => {
  const file = `prebuilds/${here}/fastcp.glibc.node`;
  expect(loading(`variables-${Object.keys(env)}`, [file], { env })).toContain(file);
});

test('a bundle says that fastcp must stay outside, and loads no addon of the program', () => {
  const said = loading('bundle', ['build/Release/other.node'], { packageName: 'app' });
  expect(said).toMatch(/^ERR_FASTCP_NO_BINARY MODULE_NOT_FOUND fastcp was bundled, /);
  expect(said).toContain('Keep `fastcp` and `fastcp/*` external,');
});

test('the error names the flags where Node loads no addon', () => {
  const file = `prebuilds/${here}/fastcp.glibc.node`;
  expect(loading('disabled', [file], { flags: ['--no-addons'] })).toMatch(
    /^ERR_FASTCP_NO_BINARY ERR_DLOPEN_DISABLED .*--allow-addons/,
  );
});

test('the binary that was built from the sources is loaded', () => {
  expect(loadBinary(root)).toHaveProperty('Job');
});

test('the CommonJS build has no import(), which a vm context refuses', () => {
  const files = readdirSync(join(root, 'dist')).filter((file) => file.endsWith('.cjs'));
  expect(files).toContain('index.cjs');
  const having = files.filter((file) =>
    /\bimport\(/.test(readFileSync(join(root, 'dist', file), 'utf8')),
  );
  expect(having).toEqual([]);
});
