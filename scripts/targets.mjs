/**
 * What prebuilt binaries there are. `platform`, `arch` and `libc` are Node's names, `system` is
 * CMake's, `zig` is the compiler's target. A new row is all that a new target needs, once
 * binding/CMakeLists.txt supports its platform.
 *
 * glibc 2.28 is the oldest that Node 20 itself runs on.
 */
export const targets = [
  {
    name: 'linux-x64-glibc',
    platform: 'linux',
    arch: 'x64',
    libc: 'glibc',
    system: 'Linux',
    zig: 'x86_64-linux-gnu.2.28',
  },
];

/** Where prebuildify puts a target's binary, and node-gyp-build looks for it. */
export function prebuildPath({ platform, arch, libc }) {
  return `prebuilds/${platform}-${arch}/fastcp.${libc}.node`;
}
