#!/bin/sh
# prebuildify only knows node-gyp and runs this in its place: in the directory that the binary is built in,
# with arguments for node-gyp that say nothing new.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/node_modules/.bin/cmake-js" rebuild \
  --directory "$root" --out "$PWD/build" --arch "$PREBUILD_ARCH" --parallel 4 \
  --CDCMAKE_TOOLCHAIN_FILE="$root/binding/cmake/zig.cmake"
