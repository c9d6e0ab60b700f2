import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workDirectory } from '../support/work.js';

// The numbers of the model are those of Apple's headers, which come with the cross compiler.

const root = join(import.meta.dirname, '../..');
const work = workDirectory('darwin-headers');

/** Flags of open(2) have to be free bits of Linux. */
const others = ['O_SYMLINK', 'O_SEARCH'];

const headers = [
  ...['fcntl.h', 'sys/acl.h', 'sys/attr.h', 'sys/clonefile.h', 'sys/errno.h', 'sys/mount.h'],
  ...['sys/resource.h', 'sys/stat.h', 'sys/stdio.h'],
];

const layouts = [
  'sizeof(attribute_set_t) == 20',
  'sizeof(attrreference_t) == 8',
  'sizeof(fsobj_type_t) == 4',
  'sizeof(vol_capabilities_attr_t) == 32',
  'ACL_TYPE_EXTENDED == 0x100',
  'FILESEC_ACL == 5',
];

function compile(asserts: string[]): string {
  const source = join(work, 'check.cc');
  const lines = asserts.map((condition) => `static_assert(${condition}, "");`);
  writeFileSync(source, [...headers.map((name) => `#include <${name}>`), ...lines, ''].join('\n'));
  const wheels = join(root, 'scripts/tools.mjs');
  const find = `import(${JSON.stringify(wheels)}).then(async (m) => console.log(await m.program('ziglang')))`;
  const zig = execFileSync(process.execPath, ['-e', find], { encoding: 'utf8' }).trim();
  const args = ['c++', '-target', 'aarch64-macos.11.0', '-c', '-o', join(work, 'check.o'), source];
  try {
    execFileSync(zig, args, { encoding: 'utf8', stdio: 'pipe' });
    return '';
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

test('constants and layouts', () => {
  const model = readFileSync(join(root, 'test/darwin/model/model.h'), 'utf8');
  const defined = [...model.matchAll(/^#define (\w+) (0x[0-9a-f]+|\d+)U?$/gm)]
    .map(([, name = '', value = '']) => [name, Number(value)] as const)
    .filter(([name]) => !others.includes(name));
  expect(defined.length).toBeGreaterThan(25);
  // Numbers that Linux has for something else: Apple's, and 1000.
  const asserts = defined.map(([name, value]) => {
    const apples = value > 1000 && value < 1200 ? value - 1000 : value;
    return `static_cast<unsigned>(${name}) == ${apples}u`;
  });
  expect(compile([...asserts, ...layouts])).toBe('');
  expect(compile(['UF_IMMUTABLE == 3'])).toContain('static assertion failed');
}, 120_000);
