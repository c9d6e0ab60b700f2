// Read before every source file on Windows (see CMakeLists.txt): errors that its C library has no number
// for. They get macOS's, which it leaves free; lib/errors.ts knows them.
#pragma once

#include <errno.h>  // NOLINT(modernize-deprecated-headers): the macros below belong to it

#ifndef EDQUOT
#define EDQUOT 69
#endif
#ifndef ESTALE
#define ESTALE 70
#endif
