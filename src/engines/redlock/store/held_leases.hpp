// What this process holds: under which claim id each token was granted.
//
// A renewal names a token, but nodes compare claims: an attempt of another claim, which came to
// nothing, may have been promised the same number elsewhere. Forgetting costs a look at the nodes,
// never safety.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

namespace pawl::redlock {

struct own_claim {
    std::string id;  // as in a record
    std::string owner;
    instant expires;  // as far as this process knows
};

// Used on one loop only.
class held_leases {
public:
    void keep(const std::string& key, fence_token token, own_claim what) {
        sweep();
        all_.insert_or_assign(key, entry{token, std::move(what)});
    }
    std::optional<own_claim> find(const std::string& key, fence_token token) const {
        const auto found = all_.find(key);
        if (found == all_.end() || found->second.token != token) return std::nullopt;
        return found->second.what;
    }
    // For one that was found here when its renewal began: it may have been released since.
    void extend(const std::string& key, fence_token token, instant expires) {
        const auto found = all_.find(key);
        if (found != all_.end() && found->second.token == token)
            found->second.what.expires = std::max(found->second.what.expires, expires);
    }
    // For one that was not: this process may have been granted the key anew since.
    void keep_unless_newer(const std::string& key, fence_token token, own_claim what) {
        const auto found = all_.find(key);
        if (found == all_.end() || found->second.token < token) keep(key, token, std::move(what));
    }
    void forget(const std::string& key, fence_token token) {
        const auto found = all_.find(key);
        if (found != all_.end() && found->second.token == token) all_.erase(found);
    }
    void forget_claim(const std::string& key, const std::string& id) {
        const auto found = all_.find(key);
        if (found != all_.end() && found->second.what.id == id) all_.erase(found);
    }
    std::size_t size() const noexcept { return all_.size(); }

private:
    struct entry {
        fence_token token;
        own_claim what;
    };

    // Leases that were neither renewed nor released: swept when there may be as many as live ones.
    void sweep() {
        if (all_.size() < sweep_at_) return;
        const auto now = lease_clock::now();
        std::erase_if(all_, [&](const auto& one) { return one.second.what.expires < now; });
        sweep_at_ = std::max<std::size_t>(1024, all_.size() * 2);
    }

    std::unordered_map<std::string, entry> all_;
    std::size_t sweep_at_ = 1024;
};

}  // namespace pawl::redlock
