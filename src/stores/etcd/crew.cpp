#include "stores/etcd/crew.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace pawl::etcd {
namespace {

struct shared_work {
    crew_step step;
    std::size_t steps = 0;
    std::size_t next = 0;
    std::size_t running = 0;
    std::optional<failure> why;
    bell* done = nullptr;  // null once nobody waits any more
};

boost::asio::awaitable<void> work_on(std::shared_ptr<shared_work> all) {
    while (all->next < all->steps && !all->why && all->done != nullptr) {
        auto mine = all->step(all->next++);
        const auto ended = co_await std::move(mine);
        if (ended.has_error()) all->why = ended.error();
    }
    if (--all->running == 0 && all->done != nullptr) all->done->ring();
}

}  // namespace

async<void> do_together(net::loop::executor_type executor, std::size_t steps, std::size_t workers,
                        crew_step step, instant deadline) {
    if (steps == 0) co_return result<void>{};
    const auto all = std::make_shared<shared_work>();
    all->step = std::move(step);
    all->steps = steps;
    all->running = std::min(steps, workers);
    bell done{executor};
    all->done = &done;
    struct parted {
        shared_work& from;
        ~parted() { from.done = nullptr; }
    };
    const parted until_the_end{*all};
    for (std::size_t i = 0, count = all->running; i < count; ++i)
        boost::asio::co_spawn(executor, work_on(all), boost::asio::detached);
    co_await done.wait(deadline);
    if (all->why) co_return *all->why;
    if (all->running > 0)
        co_return failure{errc::unreachable, "the time was up, or the caller gave up"};
    co_return result<void>{};
}

}  // namespace pawl::etcd
