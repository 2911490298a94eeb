#include <pawl/locks.hpp>

#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"
#include "runtime/partition_runner.hpp"

namespace pawl {
namespace {

using runtime::partition_runner;

std::shared_ptr<partition_runner> join(runtime::core& what, std::string name, std::uint32_t count,
                                       std::stop_token stop, partition_body body,
                                       const partition_options& options) {
    runtime::check_key(name);
    const auto longest = name + "/members/" + leasing::member_text(count, leasing::members_max);
    runtime::check_claim(*what.running(), longest, options.lease, {});
    if (auto bad = leadership_fault(options.lease)) throw option_error{*bad};
    if (auto bad = partition_fault(options, count)) throw option_error{*bad};
    if (!body) throw option_error{"the partitions of '" + name + "' have no body"};
    partition_runner::parts made_of{what.running(),  std::move(name),
                                    count,           options,
                                    std::move(stop), runtime::on_threads(std::move(body))};
    return partition_runner::make(what.loop(), std::move(made_of));
}

// `told` is what it listens to.
boost::asio::awaitable<bool> share_while(runtime::core& home, std::shared_ptr<partition_runner> who,
                                         std::shared_ptr<runtime::stops> told) {
    const runtime::core::activity going_on{home};
    const auto kept = std::move(told);
    auto sharing = partition_runner::run(std::move(who));
    co_return co_await std::move(sharing);
}

boost::asio::awaitable<void> share_on_loop(std::shared_ptr<runtime::link> way, runtime::core& home,
                                           std::string name, std::uint32_t count,
                                           std::stop_token stop, partition_body body,
                                           partition_options options) {
    auto there = runtime::reach(*way);
    std::stop_source gone;
    const auto told =
        std::make_shared<runtime::stops>(std::move(stop), gone.get_token(), home.closing());
    const auto who = join(home, std::move(name), count, told->token(), std::move(body), options);
    auto sharing = share_while(home, who, told);
    auto awaiting =
        runtime::await_there(std::move(there), std::move(sharing), gone, net::leave::when_done);
    co_await std::move(awaiting);
}

}  // namespace

void locks::run_partitions(std::string_view name, std::uint32_t count, std::stop_token stop,
                           const partition_body& body, const partition_options& options) {
    const runtime::blocking_call on{core_.get()};
    const runtime::combined_stop told{std::move(stop), on->closing()};
    const auto who = join(*on, std::string{name}, count, told.token(), body, options);
    on->loop().wait_for(partition_runner::run(who));
}

boost::asio::awaitable<void> locks::async_run_partitions(std::string_view name, std::uint32_t count,
                                                         std::stop_token stop,
                                                         const partition_body& body,
                                                         partition_options options) {
    auto& home = runtime::opened(core_.get());
    return share_on_loop(home.home(), home, std::string{name}, count, std::move(stop), body,
                         options);
}

}  // namespace pawl
