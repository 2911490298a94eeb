// One client of a store as a test uses it: a loop of its own, verbs that block, and the two ways to
// wait that hold on a slow machine.
#pragma once

#include "net/loop.hpp"
#include "test_support/conformance/store_verbs.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::conformance {

using namespace std::chrono_literals;

// Opens the store of an engine on a loop.
using store_opener = std::function<std::shared_ptr<lease_store>(net::loop&)>;

// How a wait_change ended, whose caller bounded it by a timer.
enum class wait_end { changed, timed_out, failed };

// Thread-safe, as a loop is: verbs may be called from several threads at once.
class client : public store_verbs<client> {
public:
    explicit client(const store_opener& open);
    ~client();
    client(client&&) noexcept;

    const std::shared_ptr<lease_store>& store() const { return store_; }
    template <class T>
    result<T> end_of(async<T> verb) {
        return loop_->wait_for(std::move(verb));
    }
    store_traits traits() const { return store_->traits(); }

    // Cancelled after `bound`.
    wait_end wait_change(const std::string& key, fence_token seen, millis bound);
    // The same on the loop's own thread.
    std::future<wait_end> start_waiting(const std::string& key, fence_token seen, millis bound);

    // The rest answer what a law expects, or fail the test and answer an empty value.
    fence_token granted(const claim& wanted);
    std::vector<record> all(const std::string& prefix, std::size_t limit);

    instant now() const { return lease_clock::now(); }
    // Lets real time pass on the lease clock.
    void pass(millis duration);
    // Until a lease of this TTL, which nobody renews, has ended. A store that ends leases to the
    // millisecond is given twice the TTL; one with coarser steps as long as it takes, at most 10 s.
    void let_expire(const std::string& key, millis ttl);
    // Until the store counts so many waiters of the key, where it counts them; gives up after 10 s.
    void until_waiters(const std::string& key, std::uint32_t count);

private:
    std::unique_ptr<net::loop> loop_;
    std::shared_ptr<lease_store> store_;
};
extern template class store_verbs<client>;

// A claim under a fresh id.
claim fresh_claim(const std::string& key, millis ttl = 30s, const std::string& owner = "owner");
// The occurrence `from_now` away from this machine's wall clock.
occurrence occurrence_in(millis from_now);
// A claim for an occurrence, under a fresh id.
claim fresh_occurrence(const std::string& key, occurrence due,
                       delivery mode = delivery::at_most_once, millis ttl = 30s);
occurrence before(occurrence due, millis by);
held_lease lease_of(const std::string& key, fence_token token, millis ttl = 30s);
// The same for a holder that carries on after its lease expired.
held_lease extending(const std::string& key, fence_token token, millis ttl = 30s);
// The answer, which a failure of the store makes "no" and the test fail.
bool yes(const result<bool>& answer);

}  // namespace pawl::conformance
