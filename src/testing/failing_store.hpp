// A store that fails when it is told to, around one that works.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace pawl::testing {

// What is to fail next. Thread-safe.
class failure_plan {
public:
    static constexpr int without_end = -1;

    void set(errc why, int times) {
        const std::lock_guard lock{mutex_};
        why_ = why;
        left_ = times;
    }
    std::optional<errc> take() {
        const std::lock_guard lock{mutex_};
        if (left_ == 0) return std::nullopt;
        if (left_ != without_end) --left_;
        return why_;
    }

private:
    std::mutex mutex_;
    errc why_ = errc::unreachable;  // under mutex_
    int left_ = 0;                  // under mutex_
};

std::shared_ptr<lease_store> make_failing_store(std::shared_ptr<lease_store> inner,
                                                std::shared_ptr<failure_plan> plan);

}  // namespace pawl::testing
