// Compares a credential with the hashes of the users, and remembers the answer while it is used.
//
// Hashes are slow on purpose. So a credential that was right is remembered while it is used, one
// that was wrong as well, and the hashes that have to be computed are computed one after another,
// off the loop: the other thread of its pool is the store's. Who guesses waits ever longer; a user
// who has a credential that is remembered never does.
#pragma once

#include "api/auth/token.hpp"
#include "api/limits/fair_network_queue.hpp"
#include "api/limits/lru_cache.hpp"
#include "api/limits/throttle.hpp"
#include "api/request/call.hpp"
#include "config/settings.hpp"
#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

struct verifier_rules {
    std::size_t remembered_max = config::users_max;  // of right ones, and of wrong ones
    millis remembered_for = std::chrono::minutes{5};
    // Waiting for their turn; beyond it the network with the most makes way, or it is: ask again. A
    // hash takes some 25 ms.
    std::size_t line_max = 64;
    // A token that names no user is compared with the hash of each user, when there are that many.
    std::size_t nameless_users_max = 32;
    throttle_rules addresses{.free_tries = 10, .wait_max = millis{300'000}};
    throttle_rules names{.free_tries = 5, .wait_max = millis{60'000}};
    // Guesses that name no user are guesses at everybody: all of them together are one name.
    throttle_rules nameless{.free_tries = 10, .wait_max = millis{60'000}};
};

// What a caller shows, and from where.
struct credential {
    std::string name{};  // empty: the token says it, or no user is named
    std::string token{};
    std::string peer{};  // an address
};

struct auth_result {
    enum class kind { right, wrong, nameless, throttled, overloaded } is = kind::wrong;
    caller who{};        // right
    millis wait{0};      // throttled
    bool fresh = false;  // it was found out just now, and not remembered
};

// By which an address is throttled: IPv6 networks hand out 64 bits to anybody.
std::string address_group(std::string_view peer);

// On its loop only.
class verifier : public std::enable_shared_from_this<verifier> {
public:
    verifier(net::loop& where, std::vector<config::user_settings> users, verifier_rules rules = {});

    // At once: who has shown it lately. Nothing when it takes a hash to find out.
    std::optional<caller> recall(std::string_view token, instant now);
    boost::asio::awaitable<auth_result> judge(credential shown);

    // What is remembered of users that have gone or changed is forgotten.
    void replace_users(std::vector<config::user_settings> users);
    const config::user_settings* find(std::string_view name) const;
    // Whether any is configured, be it one whose hash no secret could match.
    bool has_users() const noexcept { return has_users_; }

private:
    struct check;
    using shared_check = std::shared_ptr<check>;

    void settle(check& one, auth_result found, instant now);
    // Puts it into the line. REQUIRES: nothing about it is known yet.
    void begin(shared_check one);
    std::optional<auth_result> throttled(const check& one, instant now) const;
    // Those whose hashes are to be tried. Where there is no such user another user's is, so that
    // it takes the same time.
    std::vector<config::user_settings> candidates_for(const credential& shown) const;

    static boost::asio::awaitable<auth_result> answer_of(std::shared_ptr<verifier> me,
                                                         shared_check one, bool is_first);
    // Works off the line. REQUIRES: no other coroutine does.
    static boost::asio::awaitable<void> work(std::shared_ptr<verifier> me);
    static boost::asio::awaitable<auth_result> find_out(std::shared_ptr<verifier> me,
                                                        shared_check one);

    net::loop& loop_;
    const verifier_rules rules_;
    const digester digests_;
    bool has_users_ = false;
    std::map<std::string, config::user_settings, std::less<>> users_;  // those one can log in as
    std::uint64_t generation_ = 0;                                     // of users_
    bool working_ = false;
    fair_network_queue<shared_check> line_;
    std::map<std::string, shared_check> unsettled_;  // by digest
    lru_cache<caller> right_;
    lru_cache<auth_result> wrong_;
    throttle addresses_;
    throttle names_;
    throttle nameless_;
};

}  // namespace pawl::api
