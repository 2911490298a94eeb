#include "net/look_up.hpp"

#include "net/attachment.hpp"
#include "net/detached_thread.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace pawl::net {
namespace {

using boost::asio::ip::tcp;
using addresses = std::vector<boost::asio::ip::address>;

// Names that a loop looks up at a time, each in a thread of its own; a further one waits for one of
// them. More than the servers of any store, unless peers name them.
constexpr std::size_t threads_max = 16;

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

// One name that is being looked up.
struct flight {
    std::optional<result<addresses>> found;
    std::set<event*> waiting;
};

// Those of one loop, and on it, but for their threads, which may outlive it.
class flights final : public attached, public std::enable_shared_from_this<flights> {
public:
    static flights& of(const loop::executor_type& executor);

    std::shared_ptr<flight> join(const std::string& host);
    void loop_ends() override { queued_.clear(), under_way_.clear(); }

private:
    void begin(const std::string& host);
    void begin_queued();
    void start_thread(const std::string& host);
    void end(const std::string& host, result<addresses> found);

    std::shared_ptr<attachment> home_;
    std::map<std::string, std::shared_ptr<flight>> under_way_;
    std::deque<std::string> queued_;
    std::size_t threads_ = 0;
};

struct flights_service final : boost::asio::execution_context::service {
    using key_type = flights_service;
    static boost::asio::execution_context::id id;
    explicit flights_service(boost::asio::execution_context& owner) : service{owner} {}
    void shutdown() override {}

    std::shared_ptr<flights> all;
};

boost::asio::execution_context::id flights_service::id;

flights& flights::of(const loop::executor_type& executor) {
    auto& all =
        boost::asio::use_service<flights_service>(
            boost::asio::query(executor,
                               boost::asio::execution::context_as<boost::asio::execution_context&>))
            .all;
    if (!all) {
        all = std::make_shared<flights>();
        all->home_ = attach(executor, all);
    }
    return *all;
}

std::shared_ptr<flight> flights::join(const std::string& host) {
    auto& one = under_way_[host];
    if (one) return one;
    one = std::make_shared<flight>();
    const auto mine = one;
    begin(host);
    return mine;
}

void flights::begin(const std::string& host) {
    if (threads_ >= threads_max) return queued_.push_back(host);
    try {
        start_thread(host);
        ++threads_;
    } catch (const std::system_error& error) {
        end(host, failure{errc::unreachable,
                          std::string{"no thread to look it up: "} + error.code().message()});
    }
}

void flights::start_thread(const std::string& host) {
    run_detached([self = shared_from_this(), host] {
        self->home_->post([self, host, found = ask_the_system(host)]() mutable {
            --self->threads_;
            self->end(host, std::move(found));
        });
    });
}

// One that is not waited for any more holds up no other.
void flights::begin_queued() {
    while (!queued_.empty() && threads_ < threads_max) {
        const auto next = std::move(queued_.front());
        queued_.pop_front();
        const auto wanted = under_way_.find(next);
        if (wanted == under_way_.end()) continue;
        if (wanted->second->waiting.empty())
            under_way_.erase(wanted);
        else
            begin(next);
    }
}

void flights::end(const std::string& host, result<addresses> found) {
    const auto self = shared_from_this();
    const auto ended = under_way_.extract(host);
    begin_queued();
    if (ended.empty()) return;
    ended.mapped()->found = std::move(found);
    for (auto* each : ended.mapped()->waiting) each->notify_all();
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
    struct waiter {
        std::shared_ptr<flight> with;
        event* who;
        ~waiter() { with->waiting.erase(who); }
    };
    const auto with = flights::of(executor).join(host);
    with->waiting.insert(&interrupted);
    const waiter until_the_end{with, &interrupted};
    if (!with->found) {
        auto waiting = interrupted.wait_until(deadline);
        co_await std::move(waiting);
    }
    if (with->found) co_return *with->found;
    co_return failure{errc::unreachable, "the name was not resolved in time"};
}

}  // namespace pawl::net
