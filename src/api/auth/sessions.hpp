// Who is logged in with a browser. A machine: it is handed instants, and secrets that others drew.
#pragma once

#include "api/limits/lru_cache.hpp"
#include "api/request/call.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace pawl::api {

struct session_rules {
    // Beyond either the longest idle ends: of the same user, or of the user with the most.
    std::size_t most = 1'000;
    std::size_t most_of_user = 20;
    millis idle_max = std::chrono::minutes{30};
    millis age_max = std::chrono::hours{12};  // however often it is used
};

struct session {
    caller who{};
    std::string csrf{};       // what is done by cookie has to carry it as well
    std::string user_hash{};  // the token's, when it began; empty: by a login link
    instant ends{};           // at the latest; set by open()
};

class sessions {
public:
    explicit sessions(session_rules rules = {});

    // `id` is a digest: what the cookie says is kept nowhere.
    const session& open(const std::string& id, session fresh, instant now);
    // A use, which keeps it from ending idle. Null when there is none any more. Valid until the
    // next call.
    const session* use(const std::string& id, instant now);
    // False when there is none.
    bool close(const std::string& id) { return open_.erase(id); }
    template <class Predicate>
    void close_if(Predicate is_finished) {
        open_.erase_if(is_finished);
    }

    // When it ends unless it is used again, having been used now.
    instant end_of(const session& one, instant now) const;
    std::size_t size() const noexcept { return open_.size(); }

private:
    void make_room(const std::string& user, instant now);

    session_rules rules_;
    lru_cache<session> open_;
};

}  // namespace pawl::api
