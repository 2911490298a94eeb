// How a lease handle, which may outlive everything, finds its way back to the loop.
#pragma once

#include "net/loop.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace pawl::runtime {

class engine;

// Thread-safe.
class link {
public:
    link(net::loop& where, std::shared_ptr<engine> what) : where_{&where}, what_{std::move(what)} {}

    // Runs `use(loop, engine)` unless the end has come; `use` must not wait for the loop.
    template <class Use>
    bool with(Use use) {
        const std::lock_guard lock{mutex_};
        if (where_ == nullptr) return false;
        use(*where_, what_);
        return true;
    }

    // REQUIRES: no caller is in the middle of a blocking call. Returns null after the end.
    std::pair<net::loop*, std::shared_ptr<engine>> get() {
        const std::lock_guard lock{mutex_};
        return {where_, what_};
    }

    void cut() {
        const std::lock_guard lock{mutex_};
        where_ = nullptr;
        what_.reset();
    }

private:
    std::mutex mutex_;
    net::loop* where_;
    std::shared_ptr<engine> what_;
};

}  // namespace pawl::runtime
