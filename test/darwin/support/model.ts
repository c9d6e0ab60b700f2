import { execFileSync } from 'node:child_process';
import { buildVariant, variantAt } from '../../../scripts/build-variant.mjs';
import { hasTool } from '../../support/work.js';

/** The value of FASTCP_PREBUILD with which programs load macOS's code over the model. */
export const MODEL = variantAt('darwin-model');

/** The model is built by g++, from the same CMakeLists.txt as the addon. */
export const canBuildModel =
  process.platform === 'linux' && ['cmake', 'g++'].every((tool) => hasTool(tool));

/** Builds the model, which takes half a minute the first time. */
export function buildModel(): void {
  buildVariant('darwin-model', ['FASTCP_DARWIN_MODEL=ON']);
}

/** Where the model keeps what Linux has no place for: test/darwin/model/linux.h. */
export const hidden = {
  flags: 'user.model.flags',
  acl: 'user.model.acl',
  noClone: 'user.model.noclone',
  unflushed: 'user.model.unflushed',
} as const;

/** Flags of chflags(2). */
export const flags = {
  UF_IMMUTABLE: 0x2,
  UF_APPEND: 0x4,
  UF_COMPRESSED: 0x20,
  UF_HIDDEN: 0x8000,
  SF_IMMUTABLE: 0x20000,
  SF_APPEND: 0x40000,
} as const;

export function setAttribute(path: string, name: string, value: string): void {
  execFileSync('setfattr', ['-n', name, '-v', value, path]);
}

/** All attributes of an entry with their values, also the model's. */
export function attributesOf(path: string): Record<string, string> {
  const script =
    'import json, os, sys; p = sys.argv[1]; ' +
    'print(json.dumps({n: os.getxattr(p, n).decode() for n in sorted(os.listxattr(p))}))';
  return JSON.parse(execFileSync('python3', ['-c', script, path], { encoding: 'utf8' }));
}
