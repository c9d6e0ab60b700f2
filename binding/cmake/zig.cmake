# Builds with `zig c++`. The environment says for what: ZIG (the compiler's path), ZIG_TARGET (Zig's name)
# and ZIG_SYSTEM (CMake's name for the system).
foreach(name ZIG ZIG_TARGET ZIG_SYSTEM)
  if(NOT DEFINED ENV{${name}})
    message(FATAL_ERROR "zig.cmake: ${name} is not set; use `npm run build:prebuilds`")
  endif()
endforeach()

set(CMAKE_SYSTEM_NAME $ENV{ZIG_SYSTEM})
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR $ENV{ZIG_TARGET})
set(CMAKE_CXX_COMPILER "$ENV{ZIG}" c++ -target $ENV{ZIG_TARGET})

# A program for the target may not link or run here.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_AR ${CMAKE_CURRENT_LIST_DIR}/zig-ar.sh)
set(CMAKE_RANLIB true)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  # Zig has headers and libraries of its own, and needs no tools of Apple's.
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "" FORCE)
  set(CMAKE_INSTALL_NAME_TOOL true)
endif()

# Strip while linking: the host's strip does not know every target.
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
