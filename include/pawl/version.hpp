// Which pawl these headers belong to. Versions follow Semantic Versioning 2.0.0 (semver.org).
//
// Written by hand, and the only place where the number stands: the build takes the project's
// version from here. The page "The library" of the documentation says what each part promises.
#pragma once

// Older ones fail in the middle of a coroutine, without a word of why.
#if defined(__clang__) ? __clang_major__ < 16 : defined(__GNUC__) && __GNUC__ < 12
#error "pawl needs g++ 12 or clang 16, or a later one"
#endif

#include <string_view>

namespace pawl {

// Rises when a program may have to change. 0: any minor version may require that.
constexpr int version_major = 0;

// Rises when something is added.
constexpr int version_minor = 1;

// Rises when something is fixed, and nothing else changes.
constexpr int version_patch = 0;

// MAJOR.MINOR.PATCH, such as the command prints it. A program that is linked to a shared library
// learns here the version that it was compiled with.
constexpr std::string_view version = "0.1.0";

}  // namespace pawl
