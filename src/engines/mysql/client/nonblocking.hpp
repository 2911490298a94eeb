// Bounds of the non-blocking half of libmariadb.
#pragma once

#include <cstddef>

namespace pawl::mysql {

// OpenSSL's verification of a chain needs more than the 60 KiB that the library would take.
inline constexpr std::size_t stack_bytes = std::size_t{256} * 1024;
// How often a step that was aborted is told so before it must have ended.
inline constexpr int resumes_max = 64;

}  // namespace pawl::mysql
