#include "runtime/core.hpp"

#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "net/remote_operation.hpp"
#include "time/clocks.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <array>
#include <future>
#include <stdexcept>

namespace pawl::runtime {
namespace {

// What a destructor may cost: enough for releases that have begun to reach a store nearby.
constexpr millis drain_max{200};
constexpr int drain_turns = 64;

std::string default_owner() {
    const auto start =
        std::chrono::floor<std::chrono::seconds>(time::wall_now()).time_since_epoch().count();
    return base::owner_name(host_name(), getpid(), start, base::fresh_id().substr(0, 8));
}

void check_owner(const std::string& owner) {
    if (auto bad = base::owner_fault(owner)) throw option_error{*bad};
}

std::shared_ptr<net::loop> loop_for(const open_options& options, net::simulated_node* clock) {
    if (!options.owner.empty()) check_owner(options.owner);
    if (!options.executor) return std::make_shared<net::loop>(net::turned_by{clock});
    const auto* host = options.executor.target<boost::asio::io_context::executor_type>();
    if (host == nullptr)
        throw option_error{
            "`executor` is not that of an io_context: pass io.get_executor() of one that one "
            "thread runs, no strand and no thread_pool"};
    return net::loop::guest_of(host->context());
}

// Leaves when it is run, or destroyed with the context.
struct leaving {
    explicit leaving(std::shared_ptr<net::loop> one) : last{std::move(one)} {}
    leaving(leaving&&) noexcept = default;
    leaving& operator=(leaving&&) = delete;
    ~leaving() {
        if (last) net::loop::leave(std::move(last));
    }
    void operator()() const noexcept {}
    std::shared_ptr<net::loop> last;
};

void leave_in_context(std::shared_ptr<net::loop> one) {
    const net::loop::io_executor_type host = one->get_executor();
    boost::asio::post(host, leaving{std::move(one)});
}

}  // namespace

std::string host_name() {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') return "localhost";
    return host.data();
}

core::core(const store_maker& make, store_settings settings, open_options options,
           journal_maker make_journal, net::simulated_node* clock)
    : loop_{loop_for(options, clock)}, make_journal_{std::move(make_journal)} {
    // What has been made of a guest until something throws ends in its context, as all of it.
    struct unmade {
        std::shared_ptr<net::loop> loop;
        ~unmade() {
            if (loop && loop->is_guest()) leave_in_context(std::move(loop));
        }
    } where{loop_};
    auto store = make(*loop_);
    if (!store) throw option_error{"the function that is to make the store has made none"};
    engine::parts made_of{loop_.get(), std::move(store), std::move(settings),
                          options.owner.empty() ? default_owner() : options.owner,
                          std::move(options.observer)};
    engine_ = std::make_shared<engine>(std::move(made_of));
    slots_ = std::make_shared<slot_claimer>(engine_);
    link_ = std::make_shared<link>(*loop_, engine_);
    where.loop.reset();
    // Once for all: afterwards the engine is touched on the loop only.
    auto begin = [](std::shared_ptr<engine> what,
                    std::shared_ptr<link> home) -> boost::asio::awaitable<bool> {
        what->connect(std::move(home));
        what->start();
        co_return true;
    };
    if (!loop_->is_guest()) {
        loop_->wait_for(begin(engine_, link_));
        return;
    }
    // Before all that comes after it: who opens it may be the thread that will run the context.
    boost::asio::co_spawn(loop_->get_executor(), begin(engine_, link_),
                          [](const std::exception_ptr& error, bool) noexcept {
                              if (error) std::rethrow_exception(error);
                          });
}

boost::asio::awaitable<std::shared_ptr<journal>> core::find_records() {
    if (!records_ && make_journal_) records_ = make_journal_(*loop_);
    co_return records_;
}

std::shared_ptr<journal> core::run_journal() {
    if (!make_journal_) return nullptr;
    return loop_->wait_for(find_records());
}

boost::asio::awaitable<void> core::end_activities(core& self) {
    self.closing_.request_stop();
    while (self.activities_->count > 0) {
        auto waiting = self.activities_->idle.wait_until(instant::max());
        co_await std::move(waiting);
    }
}

// Where a test turns the clock, no time passes here: what has begun is given turns instead.
boost::asio::awaitable<void> core::end_releases(core& self) {
    if (self.loop_->clocks().simulated() == nullptr) {
        auto draining = claimer::drain(self.engine_->claims(), drain_max);
        co_await std::move(draining);
        co_return;
    }
    for (int turn = 0; turn < drain_turns; ++turn)
        co_await boost::asio::post(self.loop_->get_executor(), boost::asio::use_awaitable);
}

// While the loop is there, as bodies save checkpoints and their ends are recorded.
boost::asio::awaitable<bool> core::end(core& self) {
    if (std::exchange(self.has_ended_, true)) co_return true;
    auto ending = end_activities(self);
    co_await std::move(ending);
    auto leaving = link::close(self.link_);
    co_await std::move(leaving);
    // Those that had begun to come.
    auto ending_last = end_activities(self);
    co_await std::move(ending_last);
    self.engine_->close();
    self.link_->cut();
    auto releasing = end_releases(self);
    co_await std::move(releasing);
    co_return true;
}

void core::end_in_its_context(std::unique_ptr<core> what) noexcept {
    auto& self = *what;
    // Destroyed on the thread that runs the context, and with the context where that ends first.
    const auto begin = [&] {
        const auto host = self.loop_->get_executor();
        boost::asio::co_spawn(host, end(self),
                              boost::asio::bind_executor(
                                  static_cast<const net::loop::io_executor_type&>(host),
                                  [last = std::move(what)](const std::exception_ptr&, bool) {}));
    };
    // On that thread it may begin at once, and the context does not end meanwhile.
    if (self.loop_->is_driving()) return begin();
    if (self.loop_->unless_ended(begin)) return;
    // It has ended, or is being ended on another thread, which lets callers depart first.
    self.closing_.request_stop();
    self.link_->await_departures();
    const auto where = self.loop_;
    const auto ending = where->hold_end();
    what.reset();
}

core::~core() {
    if (loop_->is_guest()) {
        closing_.request_stop();
        if (loop_->has_ended()) link_->await_departures();
        link_->cut();
        net::loop::leave(loop_);
        engine_->close();
        return;
    }
    if (loop_->is_driving())
        base::misused("`locks` was destroyed on pawl's own loop, which it would wait for");
    loop_->wait_for(end(*this));
}

core& opened(core* where) {
    if (where == nullptr)
        throw std::logic_error{
            "this locks object was moved from or closed: use the one that it was moved to, or open "
            "another"};
    if (where->home()->is_forked_child()) throw std::logic_error{net::opened_before_fork};
    return *where;
}

blocking_call::blocking_call(core* where) : core_{opened(where)}, visit_{*core_.home()} {
    if (!visit_) throw store_error{net::locks_closed()};
}

std::shared_ptr<link::visit> reach(link& home) {
    if (home.is_forked_child()) throw std::logic_error{net::opened_before_fork};
    auto way = home.enter();
    if (!way) throw store_error{net::locks_closed()};
    return way;
}

}  // namespace pawl::runtime
