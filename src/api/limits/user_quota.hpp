// A semaphore with a quota per user: a user who takes ever more leaves some to the others.
#pragma once

#include "api/limits/user_counts.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

namespace pawl::api {

// On one loop only.
class user_quota {
public:
    struct rules {
        std::size_t most = 0;
        std::size_t most_of_user = 0;
    };
    // Taken for as long as it is kept.
    using permit = std::shared_ptr<const void>;
    enum class full { of_all, of_user };

    explicit user_quota(const rules& bounds) : bounds_{bounds} {}

    static std::variant<permit, full> take(std::shared_ptr<user_quota> self, std::string user);
    std::size_t taken() const noexcept { return taken_.of_all(); }

private:
    const rules bounds_;
    // State
    user_counts taken_;
};

}  // namespace pawl::api
