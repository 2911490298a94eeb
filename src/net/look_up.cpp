#include "net/look_up.hpp"

#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace pawl::net {
namespace {

using boost::asio::ip::tcp;
using addresses = std::vector<boost::asio::ip::address>;
using resolver_type = boost::asio::ip::basic_resolver<tcp, loop::io_executor_type>;

// One name that is being looked up.
struct flight {
    std::optional<result<addresses>> found;
    std::set<event*> waiting;
};

// Those of one loop: an Asio service, so that they end with it.
class flights final : public boost::asio::execution_context::service {
public:
    using key_type = flights;
    static boost::asio::execution_context::id id;

    explicit flights(boost::asio::execution_context& owner) : service{owner} {}
    static flights& of(const loop::executor_type& executor) {
        return boost::asio::use_service<flights>(boost::asio::query(
            executor, boost::asio::execution::context_as<boost::asio::execution_context&>));
    }

    std::shared_ptr<flight> join(const loop::executor_type& executor, const std::string& host);

private:
    static boost::asio::awaitable<void> run(loop::executor_type executor, std::string host,
                                            std::shared_ptr<flight> mine);
    void shutdown() override { under_way_.clear(); }

    std::map<std::string, std::shared_ptr<flight>> under_way_;
};

boost::asio::execution_context::id flights::id;

std::shared_ptr<flight> flights::join(const loop::executor_type& executor,
                                      const std::string& host) {
    auto& one = under_way_[host];
    if (one) return one;
    one = std::make_shared<flight>();
    boost::asio::co_spawn(executor, run(executor, host, one), unattended{});
    return one;
}

boost::asio::awaitable<void> flights::run(loop::executor_type executor, std::string host,
                                          std::shared_ptr<flight> mine) {
    resolver_type resolver{executor};
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    const auto entries = co_await resolver.async_resolve(host, "", token);
    addresses found;
    for (const auto& entry : entries) found.push_back(entry.endpoint().address());
    if (error)
        mine->found = failure{errc::unreachable, error.message()};
    else if (found.empty())
        mine->found = failure{errc::unreachable, "the name has no address"};
    else
        mine->found = std::move(found);
    of(executor).under_way_.erase(host);
    for (auto* each : mine->waiting) each->notify_all();
}

}  // namespace

async<addresses> look_up(loop::executor_type executor, std::string host, instant deadline) {
    event never;
    auto looking = look_up(std::move(executor), std::move(host), deadline, never);
    co_return co_await std::move(looking);
}

async<addresses> look_up(loop::executor_type executor, std::string host, instant deadline,
                         event& interrupted) {
    // Peers tell names as well. The system would end this one there, and OpenSSL takes it for none.
    if (host.find('\0') != std::string::npos)
        co_return failure{errc::protocol, "the name of a host has a NUL"};
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    if (!error) co_return addresses{address};
    struct place_in_line {
        std::shared_ptr<flight> with;
        event* who;
        ~place_in_line() { with->waiting.erase(who); }
    };
    const auto with = flights::of(executor).join(executor, host);
    with->waiting.insert(&interrupted);
    const place_in_line until_the_end{with, &interrupted};
    auto waiting = interrupted.wait_until(deadline);
    co_await std::move(waiting);
    if (with->found) co_return *with->found;
    co_return failure{errc::unreachable, "the name was not resolved in time"};
}

}  // namespace pawl::net
