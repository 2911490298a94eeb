#include "net/for_each_bounded.hpp"

#include "base/ensure.hpp"
#include "net/event.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::net {
namespace {

struct shared_work {
    bounded_step step;
    std::size_t count = 0;
    std::size_t next = 0;
    std::size_t workers = 0;
    std::optional<failure> why;
    bool given_up = false;
    event done;
};

boost::asio::awaitable<void> work_on(std::shared_ptr<shared_work> all) {
    while (all->next < all->count && !all->why && !all->given_up) {
        auto mine = all->step(all->next++);
        const auto ended = co_await std::move(mine);
        if (ended.has_error() && !all->why) all->why = ended.error();
    }
    if (--all->workers == 0) all->done.set();
}

}  // namespace

async<void> for_each_bounded(std::size_t count, std::size_t at_once, bounded_step step,
                             instant deadline) {
    base::ensure(at_once > 0);
    if (count == 0) co_return result<void>{};
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto all = std::make_shared<shared_work>();
    all->step = std::move(step);
    all->count = count;
    all->workers = std::min(count, at_once);
    for (std::size_t left = all->workers; left > 0; --left)
        boost::asio::co_spawn(executor, work_on(all), unattended{});
    auto waiting = all->done.wait_until(deadline);
    const bool done = co_await std::move(waiting);
    all->given_up = !done;
    if (all->why) co_return *all->why;
    if (!done) co_return failure{errc::unreachable, "timed out, or cancelled by the caller"};
    co_return result<void>{};
}

}  // namespace pawl::net
