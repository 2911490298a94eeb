#include "engines/sqlite/store/store_file.hpp"

#include "schema_sql.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>

namespace pawl::sqlite {
namespace {

constexpr std::int64_t application_id = 0x7061776c;  // "pawl"
constexpr std::int64_t layout = 1;
constexpr mode_t file_mode = 0660;

struct file_system {
    unsigned long type;
    std::string_view name;
};

// Where neither SQLite's locks nor its shared memory hold between machines. What lies behind FUSE
// nobody can tell.
constexpr file_system shared_file_systems[] = {
    {0x6969, "NFS"},        {0xff534d42, "CIFS"},  {0xfe534d42, "SMB"}, {0x517b, "SMB"},
    {0x00c36400, "CephFS"}, {0x65735546, "FUSE"},  {0x01021997, "9p"},  {0x0bd00bd0, "Lustre"},
    {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"}, {0x5346414f, "AFS"}, {0x6b414653, "AFS"},
};

failure system_failure(errc otherwise, const std::string& what, int error) {
    auto code = otherwise;
    if (error == EACCES || error == EPERM || error == EROFS) code = errc::denied;
    if (error == ENOSPC || error == EDQUOT) code = errc::rejected;
    return {code, what + ": " + std::strerror(error)};
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

std::optional<failure> check_file(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return system_failure(errc::unreachable, "the store " + path + " cannot be opened", errno);
    if (!S_ISREG(file.st_mode))
        return failure{errc::protocol, "the store " + path + " is no file: give the path of one"};
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
        if (!asking.next()) return on.refused(asking.code());
        *answer = asking.integer(0);
    }
    return header;
}

bool is_new(const file_header& header) {
    return header.application == 0 && header.version == 0 && header.tables == 0;
}

std::optional<failure> refuse_header(const std::string& path, const file_header& header) {
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
            return on.refused(switching.code());
    }
}

std::optional<failure> write_layout(connection& on, const std::string& path) {
    if (const int code = on.run("BEGIN IMMEDIATE"); code != SQLITE_OK) return on.refused(code);
    const auto header = read_header(on);
    std::optional<failure> fault;
    if (header.has_error())
        fault = header.error();
    else if (!is_new(*header))
        fault = refuse_header(path, *header);  // another process was first
    else {
        const auto script = std::string{embedded::schema_sql} +
                            "PRAGMA application_id=" + std::to_string(application_id) +
                            "; PRAGMA user_version=" + std::to_string(layout);
        if (const int code = on.run(script.c_str()); code != SQLITE_OK) fault = on.refused(code);
    }
    if (!fault) {
        const int code = on.run("COMMIT");
        if (code == SQLITE_OK) return std::nullopt;
        fault = on.refused(code);
    }
    on.run("ROLLBACK");
    return fault;
}

std::optional<failure> prepare_layout(connection& on, const std::string& path) {
    // In one transaction, or a store that is being made would look like somebody else's.
    if (const int code = on.run("BEGIN"); code != SQLITE_OK) return on.refused(code);
    const auto header = read_header(on);
    on.run("ROLLBACK");
    if (header.has_error()) return header.error();
    if (!is_new(*header)) return refuse_header(path, *header);
    if (const int code = on.run(choose_page_size); code != SQLITE_OK) return on.refused(code);
    if (auto fault = switch_to_log(on, path)) return fault;
    return write_layout(on, path);
}

// Numbers the running boot, and marks when the file was born if nobody has.
std::optional<failure> introduce(connection& on, store_file& file, const std::string& boot_id) {
    if (const int code = on.run("BEGIN IMMEDIATE"); code != SQLITE_OK) return on.refused(code);
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
    if (worked) {
        const bool this_boot = read.integer(0) == file.boot;
        file.born = {this_boot ? rules::micros{read.integer(1)} : -rules::micros{ttl_max},
                     rules::micros{read.integer(2)}};
    }
    read.reset();
    const int code = worked ? on.run("COMMIT") : sqlite3_extended_errcode(on.handle());
    if (code == SQLITE_OK) return std::nullopt;
    auto fault = on.refused(code);
    on.run("ROLLBACK");
    return fault;
}

}  // namespace

std::optional<file_identity> identity_of(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0) return std::nullopt;
    return file_identity{file.st_dev, file.st_ino};
}

rules::store_time now_here() {
    return {std::chrono::floor<rules::micros>(lease_clock::now().time_since_epoch()),
            time::wall_now().time_since_epoch()};
}

std::string wake_path_of(const std::string& path) { return path + "-wake"; }

std::string_view shared_file_system(unsigned long type) {
    for (const auto& known : shared_file_systems)
        if (known.type == type) return known.name;
    return {};
}

result<store_file> open_store_file(const std::string& path, synchronous durability,
                                   instant deadline, const std::string& boot_id) {
    if (boot_id.empty())
        return failure{errc::unsupported,
                       "the store " + path +
                           " cannot tell the leases of this boot from those of another: "
                           "/proc/sys/kernel/random/boot_id cannot be read"};
    // Closing the new file would drop the locks that another connection of this process took on it
    // in the meantime, as POSIX has it.
    static std::mutex one_at_a_time;
    const std::lock_guard lock{one_at_a_time};
    if (auto fault = make_file(path)) return std::move(*fault);
    if (auto fault = check_file(path)) return std::move(*fault);
    store_file file;
    auto writer = connection::open(path, deadline);
    if (writer.has_error()) return writer.error();
    file.writer = std::move(*writer);
    if (const int code = file.writer->commit_with(durability); code != SQLITE_OK)
        return file.writer->refused(code);
    if (auto fault = prepare_layout(*file.writer, path)) return std::move(*fault);
    if (auto fault = introduce(*file.writer, file, boot_id)) return std::move(*fault);
    auto reader = connection::open(path, deadline);
    if (reader.has_error()) return reader.error();
    file.reader = std::move(*reader);
    if (const auto identity = identity_of(path)) file.identity = *identity;
    return file;
}

}  // namespace pawl::sqlite
