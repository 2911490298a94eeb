// The file of a store: made, checked and opened, or rejected with one clear line.
#pragma once

#include <pawl/spi/rules.hpp>
#include "engines/sqlite/client/connection.hpp"
#include "engines/sqlite/client/deadline_mutex.hpp"
#include "net/fork_check.hpp"
#include "time/clocks.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// A file of the layout that this code knows, as this process has it open: the store and the journal
// in it write through one connection, which has read its schema once and takes the file's lock
// once.
class store_file {
public:
    store_file(std::unique_ptr<connection> opened, const file_identity& which);
    store_file(const store_file&) = delete;
    store_file& operator=(const store_file&) = delete;

    // The connection that writes, and what is prepared on it, is used under this.
    deadline_mutex& writers() noexcept { return writers_; }
    connection& writer() noexcept { return *writer_; }

    // Takes what is prepared on the connection that writes, to be destroyed at once where nothing
    // is being written, and with the connection otherwise.
    void retire(std::shared_ptr<void> prepared);

    // Constant once the file is open
    const file_identity identity;
    std::int64_t boot = 0;   // the number of the running boot in this file
    rules::store_time born;  // when the file was made; of another boot: before anything of this one
    const net::fork_check process;

private:
    static int after_commit(void* self, sqlite3* on, const char* name, int pages);

    deadline_mutex writers_;
    const std::unique_ptr<connection> writer_;
    int restart_at_;  // pages in the log; under writers_

    std::mutex retired_mutex_;
    std::vector<std::shared_ptr<void>> retired_;  // under retired_mutex_; before the connection
};

// A connection that reads, opened when it is first needed. Used by one thread at a time.
class lazy_reader {
public:
    // Leaves it closed where another file has taken the path, or none is there any more.
    std::optional<failure> open(const std::string& path, const file_identity& which,
                                instant deadline);
    bool is_open() const noexcept { return opened_ != nullptr; }
    // REQUIRES: is_open().
    connection& get() const noexcept { return *opened_; }

private:
    std::unique_ptr<connection> opened_;
};

// The name of a file system on which machines can share a file, or which may hide one; empty for
// others. Of statfs(2).
std::string_view shared_file_system(unsigned long type);

// Makes the file with mode 0660 (less the umask) if there is none; its folder must exist. `path` is
// absolute and without links. `boot_id` names the running boot. Who opens a file that this process
// has open is given the same one.
result<std::shared_ptr<store_file>> open_store_file(const std::string& path, synchronous durability,
                                                    instant deadline,
                                                    const std::string& boot_id = time::boot_id());

// Where waiters are woken: a file beside the store's.
std::string wake_path_of(const std::string& path);

}  // namespace pawl::sqlite
