// A fair semaphore for requests that cost much, such as long lists: so many at a time, and of them
// so many of one user.
//
// Of those who wait the user with the fewest at work is next, and of one user the request that came
// first. So a user who asks for a hundred lists at once delays a list of another by a few of them.
#pragma once

#include "api/limits/user_counts.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <string>

namespace pawl::api {

// On one loop only.
class fair_semaphore {
public:
    struct rules {
        std::size_t at_once = 0;
        std::size_t at_once_of_user = 0;
    };
    // At work for as long as it is kept.
    using turn = std::shared_ptr<const void>;

    explicit fair_semaphore(const rules& bounds) : bounds_{bounds} {}

    static boost::asio::awaitable<turn> enter(std::shared_ptr<fair_semaphore> self,
                                              std::string user);
    std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    struct waiter;
    static turn begin(std::shared_ptr<fair_semaphore> self, std::string user);
    static void leave(std::shared_ptr<fair_semaphore> self, const std::string& user);
    static void call_next(const std::shared_ptr<fair_semaphore>& self);

    const rules bounds_;
    // State
    user_counts working_;
    std::list<std::shared_ptr<waiter>> waiting_;  // in the order in which they came
};

}  // namespace pawl::api
