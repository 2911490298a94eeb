#include "runtime/core.hpp"

#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "net/remote_operation.hpp"
#include "time/clocks.hpp"

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

std::string checked(const std::string& owner) {
    if (auto bad = base::owner_fault(owner)) throw option_error{*bad};
    return owner;
}

}  // namespace

std::string host_name() {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') return "localhost";
    return host.data();
}

core::core(const store_maker& make, store_settings settings, open_options options,
           journal_maker make_journal, net::simulated_node* clock)
    : loop_{net::turned_by{clock}}, make_journal_{std::move(make_journal)} {
    auto store = make(loop_);
    if (!store) throw option_error{"the function that is to make the store has made none"};
    engine::parts made_of{&loop_, std::move(store), std::move(settings),
                          options.owner.empty() ? default_owner() : checked(options.owner),
                          std::move(options.observer)};
    engine_ = std::make_shared<engine>(std::move(made_of));
    slots_ = std::make_shared<slot_claimer>(engine_);
    link_ = std::make_shared<link>(loop_, engine_);
    // Once for all: afterwards the engine is touched on the loop only.
    auto begin = [](std::shared_ptr<engine> what,
                    std::shared_ptr<link> home) -> boost::asio::awaitable<bool> {
        what->connect(std::move(home));
        what->start();
        co_return true;
    };
    loop_.wait_for(begin(engine_, link_));
}

boost::asio::awaitable<std::shared_ptr<journal>> core::find_records() {
    if (!records_ && make_journal_) records_ = make_journal_(loop_);
    co_return records_;
}

std::shared_ptr<journal> core::run_journal() {
    if (!make_journal_) return nullptr;
    return loop_.wait_for(find_records());
}

boost::asio::awaitable<bool> core::end_activities(core& self) {
    self.closing_.request_stop();
    while (self.active_ > 0) {
        auto waiting = self.idle_.wait_until(instant::max());
        co_await std::move(waiting);
    }
    co_return true;
}

// Where a test turns the clock, no time passes here: what has begun is given turns instead.
boost::asio::awaitable<bool> core::end_releases(core& self) {
    if (self.loop_.clocks().simulated() == nullptr) {
        auto draining = claimer::drain(self.engine_->claims(), drain_max);
        co_return co_await std::move(draining);
    }
    for (int turn = 0; turn < drain_turns; ++turn)
        co_await boost::asio::post(self.loop_.get_executor(), boost::asio::use_awaitable);
    co_return true;
}

core::~core() {
    if (loop_.is_driving())
        base::misused("`locks` was destroyed on pawl's own loop, which it would wait for");
    // While the loop is there, as bodies save checkpoints and their ends are written down.
    loop_.wait_for(end_activities(*this));
    link_->await_departures();
    auto close = [](std::shared_ptr<engine> what) -> boost::asio::awaitable<bool> {
        what->close();
        co_return true;
    };
    loop_.wait_for(close(engine_));
    link_->cut();
    loop_.wait_for(end_releases(*this));
}

core& opened(core* where) {
    if (where == nullptr)
        throw std::logic_error{
            "this locks object was moved from: use the one that it was moved to"};
    if (where->home()->is_elsewhere()) throw std::logic_error{net::opened_before_fork};
    return *where;
}

blocking_call::blocking_call(core* where) : core_{opened(where)}, visit_{*core_.home()} {
    if (!visit_) throw store_error{net::locks_closed()};
}

std::shared_ptr<link::visit> reach(link& home) {
    if (home.is_elsewhere()) throw std::logic_error{net::opened_before_fork};
    auto way = home.enter();
    if (!way) throw store_error{net::locks_closed()};
    return way;
}

}  // namespace pawl::runtime
