#include "engines/sqlite/store/examination.hpp"

#include "engines/sqlite/store/store_file.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace pawl::sqlite {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
// A record takes some hundred bytes; a log is 4 MiB when nothing holds it up.
constexpr std::uint64_t room_warned = 256 * mebibyte;
constexpr std::uint64_t room_failed = 16 * mebibyte;
constexpr std::uint64_t log_warned = 64 * mebibyte;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / mebibyte) + " MiB"; }

std::uint64_t size_of(const std::string& path) {
    std::error_code none;
    const auto size = std::filesystem::file_size(path, none);
    return none ? 0 : size;
}

}  // namespace

finding judge_room(std::uint64_t free, std::uint64_t log_size) {
    const auto text = mebibytes(free) + " are free where the file is";
    if (free < room_failed)
        return {severity::fail, "disk", text + ": no lease can be granted without room; make some"};
    if (free < room_warned) return {severity::warn, "disk", text + ": make room"};
    if (log_size > log_warned)
        return {severity::warn, "disk",
                "the write-ahead log has grown to " + mebibytes(log_size) +
                    ": a process has been reading for long; end it"};
    return {severity::ok, "disk", text};
}

finding judge_mode(unsigned mode) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%04o", mode & 07777u);
    const auto text = "the file has mode " + std::string{digits};
    if ((mode & S_IWOTH) != 0)
        return {severity::warn, "privileges",
                text + ": every user may change leases; use 0660 and a group"};
    return {severity::ok, "privileges", text};
}

examination examine_file(const std::string& path, synchronous durability) {
    examination made;
    made.version = std::string{"SQLite "} + sqlite3_libversion();
    made.clock = now_here().wall.count();
    made.fence_statement = "put_fence.sql in " + path + ", in one transaction with the check";
    made.findings.push_back(
        durability == synchronous::full
            ? finding{severity::ok, "persistence", "synchronous=full: what is granted is on disk"}
            : finding{severity::warn, "persistence",
                      "synchronous=normal: a loss of power may take back the last grants"});
    struct stat file{};
    if (stat(path.c_str(), &file) == 0)
        made.findings.push_back(judge_mode(file.st_mode));
    else
        made.findings.push_back(
            {severity::fail, "privileges", path + " cannot be looked at: " + std::strerror(errno)});
    struct statfs system{};
    if (statfs(path.c_str(), &system) == 0) {
        const auto room = static_cast<std::uint64_t>(system.f_bavail) *
                          static_cast<std::uint64_t>(system.f_bsize);
        made.findings.push_back(judge_room(room, size_of(path + "-wal")));
    } else {
        made.findings.push_back(
            {severity::warn, "disk",
             "its file system cannot be looked at: " + std::string{std::strerror(errno)}});
    }
    return made;
}

}  // namespace pawl::sqlite
