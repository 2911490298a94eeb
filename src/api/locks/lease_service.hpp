// Asks for keys on behalf of clients that keep their leases themselves.
//
// Nothing here renews. What is told to the client is when the request left that granted, counted
// from when the client was heard, so that a lease that was waited for is not trusted too long, nor
// too short (docs/protocol.md, rule 8).
//
// A claim whose id the client chose belongs to the client. It may be asking for it again at this
// moment, through another agent, and then what we gave back would be what it has just been granted;
// so such a claim is never withdrawn here. One with an id of ours no client can repeat: when its
// client has gone it is given back at once.
#pragma once

#include "api/limits/user_quota.hpp"
#include "runtime/core.hpp"
#include "runtime/local_queue.hpp"

#include <pawl/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace pawl::api {

// Requests that wait for keys at a time, of all keys together; each takes room in the server. One
// user has them for a fleet of programs, and leaves most of them to others.
constexpr std::size_t claim_waiters_max = 2'048;
constexpr std::size_t claim_waiters_of_user_max = claim_waiters_max / 4;

struct client_claim {
    std::string user;
    // Of a semaphore with `slots`: its name, and one of the keys NAME/0 to NAME/(slots-1) is asked
    // for. 0: the key itself.
    std::string key;
    std::uint32_t slots = 0;
    std::string owner;
    // Names the claim at the store; nothing: a fresh one of ours.
    std::optional<std::string> id{};
    lease_options how{};
    millis wait{0};
    std::stop_token gone{};  // the client has hung up
};

struct client_grant {
    grant what;
    millis waited{0};       // from when the client was heard to when the request left that granted
    std::string id{};       // of the claim at the store
    bool repeated = false;  // a copy of the claim may still be on its way to the store
    std::optional<std::uint32_t> slot{};
};
struct crowded {  // too many wait already
    user_quota::full why;
};
// `cancelled`: the client has gone.
using client_outcome = acquire_result<client_grant, failure, leasing::cancelled, crowded>;

// On the loop of its core only, which it does not keep alive.
class lease_service : public std::enable_shared_from_this<lease_service> {
public:
    explicit lease_service(runtime::core& where);

    // REQUIRES: check_claim(), or check_slots(), had nothing to say about it; a claim of a slot has
    // no id of its client's.
    static boost::asio::awaitable<client_outcome> ask(std::shared_ptr<lease_service> self,
                                                      std::shared_ptr<const client_claim> wanted);
    std::size_t waiting() const noexcept { return waiters_->taken(); }

private:
    class slot_source;
    // A request that waits, and each key that it waits for beside its first.
    using permits = std::vector<user_quota::permit>;

    const std::shared_ptr<runtime::engine>& engine() const { return core_->running(); }
    std::optional<crowded> admit(const std::string& user, std::size_t count, permits& into) const;
    // `heard`: when the client was.
    static boost::asio::awaitable<client_outcome> ask_key(
        std::shared_ptr<lease_service> self, std::shared_ptr<const client_claim> wanted,
        instant heard, instant answer_by);
    static boost::asio::awaitable<client_outcome> ask_slots(
        std::shared_ptr<lease_service> self, std::shared_ptr<const client_claim> wanted,
        instant heard);

    // Constant after construction
    runtime::core* core_;
    // One waiter of each key asks the store; the others stand behind it, first come, first served.
    std::shared_ptr<runtime::local_queue> queue_;
    // And one of each semaphore asks for its keys.
    std::shared_ptr<runtime::local_queue> semaphores_;
    const std::shared_ptr<user_quota> waiters_ = std::make_shared<user_quota>(
        user_quota::rules{claim_waiters_max, claim_waiters_of_user_max});
};

}  // namespace pawl::api
