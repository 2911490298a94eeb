// The file of a store: made, checked and opened, or refused with one clear line.
#pragma once

#include <pawl/spi/rules.hpp>
#include "engines/sqlite/client/connection.hpp"
#include "time/clocks.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::sqlite {

// Tells a file from another one that took its path.
struct file_identity {
    dev_t device{};
    ino_t inode{};
    bool operator==(const file_identity&) const = default;
};

// Empty where there is no such file.
std::optional<file_identity> identity_of(const std::string& path);

// What the clocks say now.
rules::store_time now_here();

// An open file of the layout that this code knows.
struct store_file {
    std::unique_ptr<connection> writer;
    std::unique_ptr<connection> reader;
    file_identity identity;
    std::int64_t boot = 0;   // the number of the running boot in this file
    rules::store_time born;  // when the file was made; of another boot: before anything of this one
};

// The name of a file system on which machines can share a file, or which may hide one; empty for
// others. Of statfs(2).
std::string_view shared_file_system(unsigned long type);

// Makes the file with mode 0660 (less the umask) if there is none; its folder must exist. `boot_id`
// names the running boot.
result<store_file> open_store_file(const std::string& path, synchronous durability,
                                   instant deadline, const std::string& boot_id = time::boot_id());

// Where waiters are woken: a file beside the store's.
std::string wake_path_of(const std::string& path);

}  // namespace pawl::sqlite
