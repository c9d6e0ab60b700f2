/**
 * What prebuilt binaries there are. `platform`, `arch` and `libc` are Node's names, `system` is
 * CMake's, `zig` is the compiler's target. A new row is all that a new target needs, once
 * binding/CMakeLists.txt supports its platform.
 *
 * `needs` is what the binary may need, which is checked: all libraries by name, and the oldest system. Node 20
 * itself asks for glibc 2.28, Node 22 for macOS 11.
 *
 * `ci`: built and run by every run of .ci/run, with `npm run build:prebuilds -- --ci`.
 */
const glibc = {
  libc: 'glibc',
  needs: { libraries: [/^lib(c|m|dl|pthread)\.so\.\d$/, /^ld-linux/], glibc: '2.28' },
};
const musl = { libc: 'musl', needs: { libraries: ['libc.so'] } };
const linux = { platform: 'linux', system: 'Linux' };
const darwin = {
  platform: 'darwin',
  system: 'Darwin',
  needs: { libraries: ['/usr/lib/libSystem.B.dylib'], macos: '11.0' },
};
const windows = {
  platform: 'win32',
  system: 'Windows',
  // Windows' own, with the C library that comes with it since Windows 10.
  needs: { libraries: [/^(kernel32|ntdll)\.dll$/i, /^api-ms-win-crt-/] },
};

export const targets = [
  { ...linux, ...glibc, arch: 'x64', zig: 'x86_64-linux-gnu.2.28', ci: true },
  { ...linux, ...glibc, arch: 'arm64', zig: 'aarch64-linux-gnu.2.28' },
  { ...linux, ...musl, arch: 'x64', zig: 'x86_64-linux-musl' },
  { ...linux, ...musl, arch: 'arm64', zig: 'aarch64-linux-musl' },
  { ...darwin, arch: 'x64', zig: 'x86_64-macos.11.0' },
  { ...darwin, arch: 'arm64', zig: 'aarch64-macos.11.0' },
  { ...windows, arch: 'x64', zig: 'x86_64-windows-gnu', ci: true },
  { ...windows, arch: 'arm64', zig: 'aarch64-windows-gnu' },
].map((target) => ({ ci: false, ...target, name: nameOf(target), file: fileOf(target) }));

function nameOf({ platform, arch, libc }) {
  return [platform, arch, libc].filter(Boolean).join('-');
}

/** Where prebuildify puts a target's binary, and node-gyp-build looks for it. */
function fileOf({ platform, arch, libc }) {
  return `prebuilds/${platform}-${arch}/${['fastcp', libc, 'node'].filter(Boolean).join('.')}`;
}
