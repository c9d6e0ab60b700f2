// Included before every source file on Windows (see CMakeLists.txt). Defines errors that its C
// library has no number for. They get the numbers of macOS, which are unused there; lib/errors/from-engine.ts
// knows them.
#pragma once

#include <errno.h>  // NOLINT(modernize-deprecated-headers): the macros below belong to it

#ifndef EDQUOT
#define EDQUOT 69
#endif
#ifndef ESTALE
#define ESTALE 70
#endif
