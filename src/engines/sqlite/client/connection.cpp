#include "engines/sqlite/client/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

// How long to look away from a lock that another process holds: a transaction without a sync takes
// about the first pause, one with a sync about the last.
constexpr auto first_pause = 50us;
constexpr auto last_pause = 1600us;

// The system's word stays with the connection: it is about these only, and no other failure.
bool is_of_system(int code) {
    const int primary = code & 0xff;
    return primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR;
}

bool is_full(int code, int system_error) {
    return (code & 0xff) == SQLITE_FULL ||
           (is_of_system(code) && (system_error == ENOSPC || system_error == EDQUOT));
}

bool is_denied(int code, int system_error) {
    const int primary = code & 0xff;
    return primary == SQLITE_READONLY || primary == SQLITE_PERM || primary == SQLITE_AUTH ||
           (is_of_system(code) &&
            (system_error == EACCES || system_error == EPERM || system_error == EROFS));
}

errc kind_of(int code, int system_error) {
    if (is_full(code, system_error)) return errc::unreachable;
    if (is_denied(code, system_error)) return errc::denied;
    switch (code & 0xff) {
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
        case SQLITE_ERROR:  // a table or a column is missing
        case SQLITE_MISMATCH:
        case SQLITE_CONSTRAINT:
            return errc::protocol;
        case SQLITE_NOMEM:
        case SQLITE_TOOBIG:
            return errc::rejected;
        default:
            return errc::unreachable;
    }
}

std::string_view hint_for(int code, int system_error) {
    if (is_full(code, system_error)) return ": make room on its disk";
    if (is_denied(code, system_error))
        return ": the file, its folder and its -wal and -shm files must be writable";
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return ": another process holds its write lock for longer than the timeout";
        case SQLITE_NOTADB:
            return ": give the path of a pawl store, or of a file that does not exist";
        default:
            return "";
    }
}

}  // namespace

connection::connection(std::string path, sqlite3* handle)
    : path_{std::move(path)}, handle_{handle} {
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_handler(handle, &connection::when_busy, this);
}

result<std::unique_ptr<connection>> connection::open(const std::string& path, instant deadline) {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    if (handle == nullptr)
        return failure{errc::rejected, "there is no memory left to open " + path};
    std::unique_ptr<connection> opened{new connection{path, handle}};
    if (code != SQLITE_OK) return opened->rejected(sqlite3_extended_errcode(handle));
    opened->wait_until(deadline);
    return opened;
}

// SQLite's locks between processes can only be asked for again: there is nothing to wait on. Longer
// pauses with every try keep many contenders from wearing out the file's lock.
bool connection::pause(int times) noexcept {
    has_waited_ = true;
    const auto left = deadline_ - lease_clock::now();
    if (left <= 0ns) return false;
    const auto longest =
        std::min<std::chrono::nanoseconds>(first_pause * (1 << std::min(times, 5)), last_pause);
    std::uint32_t rng = 0;
    sqlite3_randomness(sizeof rng, &rng);
    const auto jittered = longest / 2 + longest * (rng % 512) / 1024;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(jittered, left));
    return true;
}

int connection::when_busy(void* self, int times) noexcept {
    return static_cast<connection*>(self)->pause(times) ? 1 : 0;
}

int connection::commit_with(synchronous durability) noexcept {
    if (durability_ == durability) return SQLITE_OK;
    const int set = run(durability == synchronous::full ? "PRAGMA synchronous=FULL"
                                                        : "PRAGMA synchronous=NORMAL");
    if (set == SQLITE_OK) durability_ = durability;
    return set;
}

int connection::run(const char* statements) noexcept {
    return sqlite3_exec(handle(), statements, nullptr, nullptr, nullptr);
}

failure connection::rejected(int code) const {
    const int system_error = sqlite3_system_errno(handle());
    std::string detail = "the store " + path_ + " cannot be used: " + sqlite3_errstr(code);
    detail += hint_for(code, system_error);
    // One that is full is there: no outage policy applies.
    return {kind_of(code, system_error), std::move(detail), is_full(code, system_error)};
}

failure connection::in_doubt(int code) const {
    auto what = rejected(code);
    // A commit whose write or sync failed may be found whole in the log after a crash.
    if ((code & 0xff) == SQLITE_IOERR && what.code == errc::unreachable)
        what.code = errc::outcome_unknown;
    return what;
}

// Tried again at the next run where it fails, and not within this one, whose values are bound.
void statement::prepare() {
    if (prepared_) return;
    sqlite3_stmt* prepared = nullptr;
    code_ = sqlite3_prepare_v3(on_->handle(), sql_.data(), static_cast<int>(sql_.size()),
                               SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    prepared_.reset(prepared);
}

bool statement::next() {
    if (!started_) prepare();
    if (prepared_) code_ = sqlite3_step(prepared_.get());
    return code_ == SQLITE_ROW;
}

void statement::reset() noexcept {
    started_ = false;
    sqlite3_reset(prepared_.get());
}

std::int64_t statement::integer(int column) const {
    return sqlite3_column_int64(prepared_.get(), column);
}

std::string statement::text(int column) const {
    const auto* bytes = sqlite3_column_text(prepared_.get(), column);
    const auto size = sqlite3_column_bytes(prepared_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

bool statement::is_null(int column) const {
    return sqlite3_column_type(prepared_.get(), column) == SQLITE_NULL;
}

std::optional<std::int64_t> statement::optional_integer(int column) const {
    if (is_null(column)) return std::nullopt;
    return integer(column);
}

void statement::bind(int place, std::int64_t value) {
    sqlite3_bind_int64(prepared_.get(), place, value);
}

void statement::bind(int place, std::string_view value) {
    // A null pointer would bind NULL, and an empty view may have one.
    sqlite3_bind_text(prepared_.get(), place, value.data() == nullptr ? "" : value.data(),
                      static_cast<int>(value.size()), SQLITE_STATIC);
}

void statement::bind(int place, const std::optional<std::int64_t>& value) {
    if (value)
        bind(place, *value);
    else
        sqlite3_bind_null(prepared_.get(), place);
}

}  // namespace pawl::sqlite
