#include "engines/sqlite/store/store_file.hpp"

#include "schema_sql.hpp"
#include "time/time_namespace.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

namespace pawl::sqlite {
namespace {

constexpr std::int64_t application_id = 0x7061776c;  // "pawl"
constexpr std::int64_t layout = 1;
constexpr mode_t file_mode = 0660;

// When the log is emptied into the file, in pages of 2 KiB. SQLite does the first by itself, and
// starts the log anew when no process reads: where one always does, it would grow without end. So
// from the second on the readers of that moment are waited for, but not for long, because leases
// wait as well; and not at every commit.
constexpr int pages_until_emptied = 1000;
constexpr int pages_until_restart = 2000;
constexpr int pages_between_restarts = 500;
constexpr auto restart_timeout = std::chrono::milliseconds{20};

struct file_system {
    unsigned long type;
    std::string_view name;
};

// Where neither SQLite's locks nor its shared memory hold between machines. What lies behind FUSE
// cannot be told.
constexpr file_system shared_file_systems[] = {
    {0x6969, "NFS"},          {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},
    {0x517b, "SMB"},          {0x19830326, "BeeGFS"}, {0x47504653, "GPFS"},
    {0x20030528, "OrangeFS"}, {0x786f4256, "vboxsf"}, {0x73757245, "Coda"},
    {0xbacbacbc, "vmhgfs"},   {0x00c36400, "CephFS"}, {0x65735546, "FUSE"},
    {0x01021997, "9p"},       {0x0bd00bd0, "Lustre"}, {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"},    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
};

failure system_failure(errc otherwise, const std::string& what, int error) {
    auto code = otherwise;
    if (error == EACCES || error == EPERM || error == EROFS) code = errc::denied;
    const bool full = error == ENOSPC || error == EDQUOT;
    if (full) code = errc::unreachable;
    return {code, what + ": " + std::strerror(error), full};
}

// SQLite would make the file readable by everybody, and its -wal and -shm files take after it.
std::optional<failure> make_file(const std::string& path) {
    const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
    if (made >= 0) {
        ::close(made);
        return std::nullopt;
    }
    if (errno == EEXIST) return std::nullopt;
    const auto folder = std::filesystem::path{path}.parent_path().string();
    if (errno == ENOENT)
        return failure{errc::unreachable, "the folder " + folder + " of the store " + path +
                                              " does not exist: make it first"};
    return system_failure(errc::unreachable, "the store " + path + " cannot be made", errno);
}

// SQLite keeps its log and its locks beside the name. Under two names a file has two of each: what
// one process grants the other does not see.
std::optional<failure> reject_second_name(const std::string& path, const struct stat& file) {
    if (file.st_nlink > 1)
        return failure{errc::unsupported,
                       "the store " + path + " has " + std::to_string(file.st_nlink) +
                           " names (hard links), each of which would have a log and locks of its "
                           "own: leave it one"};
    struct statx more{};
    const bool is_mount = ::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &more) == 0 &&
                          (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    if (is_mount)
        return failure{errc::unsupported,
                       "the store " + path +
                           " is a mount of one file, whose log and locks would lie beside the "
                           "mount, where others do not see them: mount its folder"};
    return std::nullopt;
}

std::optional<failure> check_file(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return system_failure(errc::unreachable, "the store " + path + " cannot be opened", errno);
    if (!S_ISREG(file.st_mode))
        return failure{errc::protocol, "the store " + path + " is not a file; expected a path"};
    if (auto fault = reject_second_name(path, file)) return fault;
    struct statfs where{};
    if (::statfs(path.c_str(), &where) != 0) return std::nullopt;
    const auto shared = shared_file_system(static_cast<unsigned long>(where.f_type));
    if (!shared.empty())
        return failure{errc::unsupported,
                       "the store " + path + " is on " + std::string{shared} +
                           ", where locks of SQLite do not hold between machines: use a local "
                           "disk, or a store with a server"};
    return std::nullopt;
}

struct file_header {
    std::int64_t application = 0;
    std::int64_t version = 0;
    std::int64_t tables = 0;
};

result<file_header> read_header(connection& on) {
    file_header header;
    for (const auto& [question, answer] :
         {std::pair{"PRAGMA application_id", &header.application},
          std::pair{"PRAGMA user_version", &header.version},
          std::pair{"SELECT count(*) FROM sqlite_schema", &header.tables}}) {
        statement asking{on, question};
        if (!asking.next()) return on.rejected(asking.code());
        *answer = asking.integer(0);
    }
    return header;
}

bool is_new(const file_header& header) {
    return header.application == 0 && header.version == 0 && header.tables == 0;
}

std::optional<failure> reject_header(const std::string& path, const file_header& header) {
    if (header.application != application_id)
        return failure{errc::protocol, "the database " + path +
                                           " belongs to another program: give the path of a pawl "
                                           "store, or of a file that does not exist"};
    if (header.version > layout)
        return failure{errc::unsupported, "the store " + path + " has layout " +
                                              std::to_string(header.version) +
                                              ", and this pawl knows " + std::to_string(layout) +
                                              " at most: use a newer pawl"};
    return std::nullopt;
}

// A transaction writes whole pages to the log, and most write one record of about 200 bytes: half
// of SQLite's usual page makes them a tenth cheaper.
constexpr const char* choose_page_size = "PRAGMA page_size=2048";

// The switch to the log needs the file alone for a moment, and does not wait for that by itself.
std::optional<failure> switch_to_log(connection& on, const std::string& path) {
    for (int times = 0;; ++times) {
        statement switching{on, "PRAGMA journal_mode=WAL"};
        if (switching.next()) {
            if (switching.text(0) == "wal") return std::nullopt;
            return failure{errc::unsupported, "the store " + path +
                                                  " is on a file system that cannot share memory, "
                                                  "which SQLite's log needs"};
        }
        if ((switching.code() & 0xff) != SQLITE_BUSY || !on.pause(times))
            return on.rejected(switching.code());
    }
}

std::optional<failure> write_layout(connection& on, const std::string& path) {
    if (const int code = on.run("BEGIN IMMEDIATE"); code != SQLITE_OK) return on.rejected(code);
    const auto header = read_header(on);
    std::optional<failure> fault;
    if (header.has_error())
        fault = header.error();
    else if (!is_new(*header))
        fault = reject_header(path, *header);  // another process was first
    else {
        const auto script = std::string{embedded::schema_sql} +
                            "PRAGMA application_id=" + std::to_string(application_id) +
                            "; PRAGMA user_version=" + std::to_string(layout);
        if (const int code = on.run(script.c_str()); code != SQLITE_OK) fault = on.rejected(code);
    }
    if (!fault) {
        const int code = on.run("COMMIT");
        if (code == SQLITE_OK) return std::nullopt;
        fault = on.rejected(code);
    }
    on.run("ROLLBACK");
    return fault;
}

std::optional<failure> prepare_layout(connection& on, const std::string& path) {
    // In one transaction, or a store that is being made would look like another program's.
    if (const int code = on.run("BEGIN"); code != SQLITE_OK) return on.rejected(code);
    const auto header = read_header(on);
    on.run("ROLLBACK");
    if (header.has_error()) return header.error();
    if (!is_new(*header)) return reject_header(path, *header);
    if (const int code = on.run(choose_page_size); code != SQLITE_OK) return on.rejected(code);
    if (auto fault = switch_to_log(on, path)) return fault;
    return write_layout(on, path);
}

void take_marker(store_file& file, std::int64_t boot, std::int64_t born, std::int64_t born_wall) {
    const bool this_boot = boot == file.boot;
    file.born = {this_boot ? rules::micros{born} : -rules::micros{ttl_max},
                 rules::micros{born_wall}};
}

// Opening again and again writes nothing, and takes no lock that others wait for.
result<bool> is_introduced(connection& on, store_file& file, const std::string& boot_id) {
    statement ask{on,
                  "SELECT b.boot, m.boot, m.born, m.born_wall FROM pawl_boot b, pawl_marker m "
                  "WHERE b.boot_id = ?1"};
    ask.start(boot_id);
    const bool found = ask.next();
    if (!found && ask.code() != SQLITE_DONE) return on.rejected(ask.code());
    if (found) {
        file.boot = ask.integer(0);
        take_marker(file, ask.integer(1), ask.integer(2), ask.integer(3));
    }
    ask.reset();
    return found;
}

// Numbers the running boot, and marks when the file was born if no mark is there.
std::optional<failure> introduce(connection& on, store_file& file, const std::string& boot_id) {
    if (const int code = on.run("BEGIN IMMEDIATE"); code != SQLITE_OK) return on.rejected(code);
    const auto now = now_here();
    statement name{on, "INSERT INTO pawl_boot (boot_id) VALUES (?1) ON CONFLICT DO NOTHING"};
    statement ask{on, "SELECT boot FROM pawl_boot WHERE boot_id = ?1"};
    statement mark{on, "INSERT INTO pawl_marker VALUES (1, ?1, ?2, ?3) ON CONFLICT DO NOTHING"};
    statement read{on, "SELECT boot, born, born_wall FROM pawl_marker"};
    bool worked = name.run(boot_id);
    ask.start(boot_id);
    worked = worked && ask.next();
    if (worked) file.boot = ask.integer(0);
    ask.reset();
    worked = worked && mark.run(file.boot, now.elapsed.count(), now.wall.count()) && read.next();
    if (worked) take_marker(file, read.integer(0), read.integer(1), read.integer(2));
    read.reset();
    const int code = worked ? on.run("COMMIT") : sqlite3_extended_errcode(on.handle());
    if (code == SQLITE_OK) return std::nullopt;
    auto fault = on.rejected(code);
    on.run("ROLLBACK");
    return fault;
}

using known_files = std::map<std::string, std::weak_ptr<store_file>>;

// The file at the path, if this process has it open; null, if not. A file that the parent had open
// at the fork is rejected: SQLite would take the parent's locks, which the child has not, for its
// own, and the parent would delete the log under it.
result<std::shared_ptr<store_file>> known_file(const known_files& known, const std::string& path) {
    const auto there = identity_of(path);
    for (const auto& [name, each] : known) {
        auto file = each.lock();
        if (!file || !there || *there != file->identity) continue;
        if (file->process.is_forked_child())
            return failure{errc::unsupported,
                           "the store " + path +
                               " was open when this process was forked, and SQLite's locks do not "
                               "pass to a child: open it after fork() only, or use a store with a "
                               "server"};
        if (name == path) return file;
    }
    return std::shared_ptr<store_file>{};
}

}  // namespace

std::optional<file_identity> identity_of(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0) return std::nullopt;
    return file_identity{file.st_dev, file.st_ino};
}

// Containers of one machine may share the file, and each may have a clock of its own.
rules::store_time now_here() {
    const auto of_machine = lease_clock::now().time_since_epoch() - time::boottime_offset();
    return {std::chrono::floor<rules::micros>(of_machine), time::wall_now().time_since_epoch()};
}

std::string wake_path_of(const std::string& path) { return path + "-wake"; }

std::string_view shared_file_system(unsigned long type) {
    for (const auto& known : shared_file_systems)
        if (known.type == type) return known.name;
    return {};
}

store_file::store_file(std::unique_ptr<connection> opened, const file_identity& which)
    : identity{which}, writer_{std::move(opened)}, restart_at_{pages_until_restart} {
    sqlite3_wal_hook(writer_->handle(), &store_file::after_commit, this);
}

int store_file::after_commit(void* self, sqlite3* on, const char* name, int pages) {
    auto& mine = *static_cast<store_file*>(self);
    if (pages < pages_until_restart) mine.restart_at_ = pages_until_restart;
    if (pages >= mine.restart_at_) {
        mine.restart_at_ = pages + pages_between_restarts;
        mine.writer_->wait_until(lease_clock::now() + restart_timeout);
        sqlite3_wal_checkpoint_v2(on, name, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
    } else if (pages >= pages_until_emptied) {
        sqlite3_wal_checkpoint_v2(on, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    }
    // What was committed is, whatever becomes of the log.
    return SQLITE_OK;
}

void store_file::retire(std::shared_ptr<void> prepared) {
    std::unique_lock writing{writers_, std::defer_lock};
    const bool quiet = writing.try_lock_until(instant{});
    const std::lock_guard lock{retired_mutex_};
    retired_.push_back(std::move(prepared));
    if (quiet) retired_.clear();
}

std::optional<failure> lazy_reader::open(const std::string& path, const file_identity& which,
                                         instant deadline) {
    if (opened_) return std::nullopt;
    auto fresh = connection::open(path, deadline);
    const auto there = identity_of(path);
    if (!there || *there != which) return std::nullopt;
    if (fresh.has_error()) return fresh.error();
    opened_ = std::move(*fresh);
    return std::nullopt;
}

result<std::shared_ptr<store_file>> open_store_file(const std::string& path, synchronous durability,
                                                    instant deadline, const std::string& boot_id) {
    if (boot_id.empty())
        return failure{errc::unsupported,
                       "the store " + path +
                           " cannot distinguish the leases of this boot from those of another: "
                           "/proc/sys/kernel/random/boot_id cannot be read"};
    // Closing a new file would drop the locks that another connection of this process took on it in
    // the meantime, as POSIX has it.
    static std::mutex one_at_a_time;
    const std::lock_guard lock{one_at_a_time};
    static auto& known = *new known_files;
    std::erase_if(known, [](const auto& each) { return each.second.expired(); });
    auto open = known_file(known, path);
    if (open.has_error() || *open) return open;
    if (auto fault = make_file(path)) return std::move(*fault);
    if (auto fault = check_file(path)) return std::move(*fault);
    // Asked before: should another file take the path meanwhile, it is opened anew at the next
    // look.
    const auto identity = identity_of(path);
    auto writer = connection::open(path, deadline);
    if (writer.has_error()) return writer.error();
    auto file =
        std::make_shared<store_file>(std::move(*writer), identity.value_or(file_identity{}));
    auto& on = file->writer();
    if (const int code = on.commit_with(durability); code != SQLITE_OK) return on.rejected(code);
    if (auto fault = prepare_layout(on, path)) return std::move(*fault);
    const auto introduced = is_introduced(on, *file, boot_id);
    if (introduced.has_error()) return introduced.error();
    if (!*introduced)
        if (auto fault = introduce(on, *file, boot_id)) return std::move(*fault);
    known[path] = file;
    return file;
}

}  // namespace pawl::sqlite
