#include "admin/side_by_side.hpp"

#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace pawl::admin {
namespace {

using boost::asio::awaitable;

struct errands {
    errands(const boost::asio::any_io_executor& executor, std::size_t count,
            std::function<awaitable<void>(std::size_t)> one)
        : left{count},
          work{std::move(one)},
          done{executor, boost::asio::steady_timer::time_point::max()} {}

    std::size_t next = 0;
    std::size_t left;  // that have not ended
    std::function<awaitable<void>(std::size_t)> work;
    boost::asio::steady_timer done;
};

awaitable<void> do_some(std::shared_ptr<errands> all, std::size_t count) {
    while (all->next < count) {
        auto doing = all->work(all->next++);
        co_await std::move(doing);
        if (--all->left == 0) all->done.cancel();
    }
}

}  // namespace

awaitable<void> side_by_side(boost::asio::any_io_executor executor, std::size_t count,
                             std::size_t at_once, std::function<awaitable<void>(std::size_t)> one) {
    if (count == 0) co_return;
    const auto all = std::make_shared<errands>(executor, count, std::move(one));
    for (std::size_t i = 1; i < std::min(count, at_once); ++i)
        boost::asio::co_spawn(executor, do_some(all, count), net::unattended{});
    auto doing = do_some(all, count);
    co_await std::move(doing);
    while (all->left > 0) {
        boost::system::error_code woken;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, woken);
        co_await all->done.async_wait(token);
    }
}

}  // namespace pawl::admin
