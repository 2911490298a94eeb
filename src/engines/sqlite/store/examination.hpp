// How the file of a store is: for `pawl doctor`.
#pragma once

#include "engines/sqlite/store/sqlite_store.hpp"

#include <pawl/spi/examination.hpp>

#include <cstdint>
#include <string>

namespace pawl::sqlite {

// Looks at the file and at the room around it. Blocks. Opens nothing. (A file system whose locks do
// not hold is rejected when the store is opened.)
examination examine_file(const std::string& path, synchronous durability);

// The parts that need no file.

// Bytes that are free on its file system, and the size of its write-ahead log.
finding judge_room(std::uint64_t free, std::uint64_t log_size);
// The file's mode, as of stat(2).
finding judge_mode(unsigned mode);

}  // namespace pawl::sqlite
