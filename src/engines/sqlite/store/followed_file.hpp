// The file at a path as one object uses it: with what it has prepared on it, and opened anew where
// another file has taken the path, because what is in a file that no other process can open
// excludes none.
#pragma once

#include "base/duration.hpp"
#include "engines/sqlite/client/deadline_mutex.hpp"
#include "engines/sqlite/store/store_file.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace pawl::sqlite {

// Absolute, so that no name means anything else to SQLite, and that a change of folder does not
// move it; without links, so that all who open it agree on the files beside it.
inline std::string whole_path(const std::string& path) {
    std::error_code unknown;
    const auto absolute = std::filesystem::absolute(path);
    const auto whole = std::filesystem::weakly_canonical(absolute, unknown);
    return (unknown ? absolute : whole).string();
}

// Thread-safe. A deadline bounds the wait for other threads and processes.
//
// Session is what is prepared on the file: it has `file`, a shared_ptr<store_file>, and
// `std::optional<failure> prepare_reading(const std::string& path, instant deadline)`, which is
// called before each use by a reader.
template <class Session>
class followed_file {
public:
    // `what` begins a message: "the store /var/lib/pawl.db".
    followed_file(std::string path, std::string what, millis timeout)
        : path_{std::move(path)}, what_{std::move(what)}, timeout_{timeout} {}
    virtual ~followed_file() = default;
    followed_file(const followed_file&) = delete;
    followed_file& operator=(const followed_file&) = delete;

    const std::string& path() const noexcept { return path_; }

    // The session for one thread, until it goes.
    class turn {
    public:
        Session& operator*() const noexcept { return *session_; }
        Session* operator->() const noexcept { return session_; }

    private:
        friend followed_file;
        std::unique_lock<deadline_mutex> mine_;
        std::shared_ptr<store_file> file_;  // which outlives the lock on it
        std::unique_lock<deadline_mutex> writers_;
        Session* session_ = nullptr;
    };

    result<turn> to_write(instant deadline) {
        for (;;) {
            if (auto fault = follow(deadline)) return std::move(*fault);
            turn got;
            got.mine_ = std::unique_lock{writers_, std::defer_lock};
            if (!got.mine_.try_lock_until(deadline) || !session_) return overdue();
            got.file_ = session_->file;
            got.writers_ = std::unique_lock{got.file_->writers(), std::defer_lock};
            if (!got.writers_.try_lock_until(deadline)) return overdue();
            // After a long wait it looks again: what is written to a file that has gone is lost.
            if (!is_current()) continue;
            got.session_ = session_.get();
            got.file_->writer().wait_until(deadline);
            return got;
        }
    }

    result<turn> to_read(instant deadline) {
        for (;;) {
            if (auto fault = follow(deadline)) return std::move(*fault);
            turn got;
            got.mine_ = std::unique_lock{readers_, std::defer_lock};
            if (!got.mine_.try_lock_until(deadline) || !session_) return overdue();
            if (auto fault = session_->prepare_reading(path_, deadline)) return std::move(*fault);
            if (session_->reader.is_open()) {
                got.session_ = session_.get();
                return got;
            }
            if (lease_clock::now() >= deadline) return overdue();
            look_again_.store(0, std::memory_order_relaxed);
        }
    }

    // REQUIRES: no other thread knows this object, or writers_ and readers_ are held.
    std::optional<failure> reopen(instant deadline) {
        session_.reset();
        remember({});  // the next caller tries again, should this fail
        auto opened = open_session(deadline);
        if (opened.has_error()) return opened.error();
        session_ = std::move(*opened);
        remember(session_->file->identity);
        return std::nullopt;
    }

protected:
    // Whether the file at the path is the one that is open. To be asked with a turn in hand, for
    // one that had to wait for other processes since it was given.
    bool is_still_there() {
        if (is_open(identity_of(path_))) return true;
        look_again_.store(0, std::memory_order_relaxed);
        return false;
    }

    virtual result<std::unique_ptr<Session>> open_session(instant deadline) = 0;

    failure overdue() const {
        return {errc::unreachable, what_ + " was busy for " + base::format_duration(timeout_) +
                                       ": its disk is slow, or a process holds its lock"};
    }

private:
    // How long a file is taken to be the one at its path: to look costs a tenth of a transaction.
    static constexpr auto look_interval = std::chrono::milliseconds{10};

    // Whether the file that is open is the one at the path, as far as was looked.
    bool is_current() {
        const auto now = lease_clock::now().time_since_epoch();
        if (now.count() < look_again_.load(std::memory_order_relaxed)) return true;
        if (!is_open(identity_of(path_))) return false;
        look_again_.store((now + look_interval).count(), std::memory_order_relaxed);
        return true;
    }

    std::optional<failure> follow(instant deadline) {
        if (is_current()) return std::nullopt;
        std::unique_lock writing{writers_, std::defer_lock};
        std::unique_lock reading{readers_, std::defer_lock};
        if (!writing.try_lock_until(deadline) || !reading.try_lock_until(deadline))
            return overdue();
        if (is_open(identity_of(path_))) return std::nullopt;
        return reopen(deadline);
    }

    bool is_open(const std::optional<file_identity>& there) {
        const std::lock_guard lock{identity_mutex_};
        return there && *there == identity_;
    }
    void remember(const file_identity& which) {
        const std::lock_guard lock{identity_mutex_};
        identity_ = which;
    }

    // Constant after construction
    const std::string path_;
    const std::string what_;
    const millis timeout_;

    // A writer takes writers_, then the file's; a reader readers_; to open the file anew takes
    // writers_ and readers_, in this order.
    deadline_mutex writers_;
    deadline_mutex readers_;
    std::unique_ptr<Session> session_;

    std::atomic<std::int64_t> look_again_{0};  // on the lease clock
    std::mutex identity_mutex_;
    file_identity identity_;  // under identity_mutex_; of the file that is open
};

}  // namespace pawl::sqlite
