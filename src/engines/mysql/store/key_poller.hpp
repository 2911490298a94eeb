// Polls the keys that this process waits for: which are next, and after which pause.
//
// MySQL has no push. One look, a read of the primary key, serves all waits of this store; the
// looks are close together while a wait is young and calm down as it lasts.
#pragma once

#include "net/event.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/spi/lease_store.hpp>

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pawl::mysql {

// A hand-over is noticed this much later than it happened, at most; half of it on average.
constexpr millis look_pause_min{10};
constexpr millis look_pause_max{250};

// The pause after a look when the youngest wait has lasted for `age`.
millis look_pause(millis age);

// One wait_change that is under way. Used on the loop only.
struct key_wait {
    key_wait(std::string key, fence_token seen) : key{std::move(key)}, seen{seen} {}

    void end(std::optional<failure> why) {
        fault = std::move(why);
        over.set();
    }

    const std::string key;
    const fence_token seen;
    const instant began = lease_clock::now();
    net::event over;
    std::optional<failure> fault;
};

class key_poller {
public:
    using waits = std::list<key_wait*>;

    waits::iterator add(key_wait* who) { return waits_.insert(waits_.end(), who); }
    void remove(waits::iterator place) { waits_.erase(place); }
    bool empty() const noexcept { return waits_.empty(); }

    // The next keys to look at, each once, at most `limit` of them; empty when all were looked at.
    std::vector<std::string> round(const std::string& after, std::size_t limit) const;
    // What a look saw: the holders of those of `keys` that are held.
    void seen(const std::vector<std::string>& keys,
              const std::map<std::string, fence_token>& holders);
    void failed(const std::vector<std::string>& keys, const failure& why);
    // Of the youngest wait.
    millis age(instant now) const;

private:
    waits waits_;
};

}  // namespace pawl::mysql
