#include "net/look_up.hpp"

#include "net/shared_questions.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <system_error>
#include <utility>

namespace pawl::net {
namespace {

using boost::asio::ip::tcp;
using addresses = std::vector<boost::asio::ip::address>;

// Blocks. In a context of its own, so that the end of the caller's waits for nothing here.
result<addresses> ask_the_system(const std::string& host) {
    boost::asio::io_context own;
    tcp::resolver resolver{own};
    boost::system::error_code error;
    const auto entries = resolver.resolve(host, "", error);
    if (error) return failure{errc::unreachable, error.message()};
    addresses found;
    for (const auto& entry : entries) found.push_back(entry.endpoint().address());
    if (found.empty()) return failure{errc::unreachable, "the name has no address"};
    return found;
}

using names = shared_questions<std::string, result<addresses>>;

std::shared_ptr<names> names_on(const loop::executor_type& executor) {
    names::kind what;
    what.ask = ask_the_system;
    what.no_thread = [](const std::string&, const std::error_code& error) {
        return failure{errc::unreachable, "no thread to look it up: " + error.message()};
    };
    return names::on(executor, std::move(what));
}

// The questions of one loop.
struct names_service final : boost::asio::execution_context::service {
    using key_type = names_service;
    static boost::asio::execution_context::id id;
    explicit names_service(boost::asio::execution_context& owner) : service{owner} {}
    void shutdown() override {}

    std::shared_ptr<names> all;
};

boost::asio::execution_context::id names_service::id;

std::shared_ptr<names> names_of(const loop::executor_type& executor) {
    auto& all =
        boost::asio::use_service<names_service>(
            boost::asio::query(executor,
                               boost::asio::execution::context_as<boost::asio::execution_context&>))
            .all;
    if (!all) all = names_on(executor);
    return all;
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
    auto asking = names::answer_to(names_of(executor), std::move(host), deadline, interrupted);
    const auto found = co_await std::move(asking);
    if (found) co_return *found;
    co_return failure{errc::unreachable, "the name was not resolved in time"};
}

}  // namespace pawl::net
