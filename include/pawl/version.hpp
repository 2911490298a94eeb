// Which pawl these headers belong to. Versions follow Semantic Versioning 2.0.0 (semver.org).
//
// Written by hand, and the only place where the number stands: the build takes the project's
// version from here. The page "The library" of the documentation says what each part promises.
#pragma once

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
