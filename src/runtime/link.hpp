// How calls, and lease handles, which may outlive everything, find their way to the loop.
#pragma once

#include "net/loop.hpp"
#include "net/own_process.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace pawl::runtime {

class engine;

// Thread-safe.
class link {
public:
    link(net::loop& where, std::shared_ptr<engine> what) : where_{&where}, what_{std::move(what)} {}

    // In the child of a fork() nothing is there any more, and no mutex is touched.
    bool is_elsewhere() const noexcept { return process_.is_elsewhere(); }

    // Runs `use(loop, engine)` unless the end has come; `use` must not wait for the loop.
    template <class Use>
    bool with(Use use) {
        if (is_elsewhere()) return false;
        const std::lock_guard lock{mutex_};
        if (where_ == nullptr) return false;
        use(*where_, what_);
        return true;
    }

    // Neither goes while a visit lasts: for a call that blocks. Empty after the end.
    class visit {
    public:
        explicit visit(link& home) : home_{home} {
            if (home.is_elsewhere()) return;
            const std::lock_guard lock{home.mutex_};
            if (home.where_ == nullptr) return;
            where_ = home.where_;
            what_ = home.what_;
            ++home.visits_;
        }
        ~visit() {
            if (where_ == nullptr) return;
            const std::lock_guard lock{home_.mutex_};
            if (--home_.visits_ == 0) home_.deserted_.notify_all();
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

        explicit operator bool() const noexcept { return where_ != nullptr; }
        net::loop& loop() const { return *where_; }
        const std::shared_ptr<engine>& running() const { return what_; }

    private:
        link& home_;
        net::loop* where_ = nullptr;
        std::shared_ptr<engine> what_;
    };

    // For a call that is awaited: a visit to be let go of as soon as the call is on its way to the
    // loop, as whoever ends it waits for that. Empty after the end.
    std::shared_ptr<visit> enter() {
        auto made = std::make_shared<visit>(*this);
        return *made ? made : nullptr;
    }

    // Waits until no visit is left.
    void await_departures() {
        std::unique_lock lock{mutex_};
        deserted_.wait(lock, [this] { return visits_ == 0; });
    }
    // The end. Waits for visits as well.
    void cut() {
        std::unique_lock lock{mutex_};
        deserted_.wait(lock, [this] { return visits_ == 0; });
        where_ = nullptr;
        what_.reset();
    }

private:
    const net::own_process process_;
    std::mutex mutex_;
    std::condition_variable deserted_;
    std::size_t visits_ = 0;  // under mutex_
    net::loop* where_;
    std::shared_ptr<engine> what_;
};

}  // namespace pawl::runtime
