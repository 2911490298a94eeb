#include <pawl/locks.hpp>

#include "base/ensure.hpp"
#include "lease/election.hpp"
#include "net/boot_timer.hpp"
#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"

#include <exception>
#include <random>

namespace pawl {
namespace {

using boost::asio::awaitable;
using leasing::election;
using runtime::engine;
using runtime::lease_state;

// A claim waits for the key at most so long and then begins anew.
constexpr millis campaign_wait = std::chrono::hours{1};

// One call of lead(). Shared by the caller and the loop, which take turns with it.
struct campaign_state {
    campaign_state(std::shared_ptr<engine> at, std::string wanted, const lease_options& how,
                   std::stop_token until)
        : home{std::move(at)},
          key{std::move(wanted)},
          options{how},
          shutdown{std::move(until)},
          machine{leasing::election_plan_of(how), home->now()},
          random{home->loop().clocks().seed()} {
        // The election itself asks again, and forgets old failures when it is answered.
        options.on_store_down = store_down::fail;
    }

    // Constant after construction
    std::shared_ptr<engine> home;
    std::string key;
    lease_options options;
    std::stop_token shutdown;
    // State
    election machine;
    std::minstd_rand random;

    double uniform() { return std::uniform_real_distribution<double>{0.0, 1.0}(random); }
};

std::shared_ptr<campaign_state> stand(runtime::core& what, std::string key,
                                      const lease_options& options, std::stop_token stop,
                                      const term_body& body) {
    runtime::check_claim(*what.running(), key, options, {.wait = campaign_wait});
    if (auto bad = leadership_fault(options)) throw option_error{*bad};
    if (!body) throw option_error{"the leader of '" + key + "' has no body"};
    return std::make_shared<campaign_state>(what.running(), std::move(key), options,
                                            std::move(stop));
}

// Ends early when told to stop.
awaitable<void> rest(std::shared_ptr<campaign_state> who, instant until) {
    const auto timer = std::make_shared<net::boot_timer>(who->home->executor());
    timer->set(until);
    const auto wake = [home = who->home->loop_attachment(), timer] {
        home->post([timer] { timer->wake(); });
    };
    const std::stop_callback on_stop{who->shutdown, wake};
    co_await timer->wait();
}

awaitable<std::shared_ptr<lease_state>> campaign(std::shared_ptr<campaign_state> who) {
    const wait_policy how_long{.wait = campaign_wait};
    auto asking =
        engine::acquire_with_reason(who->home, who->key, who->options, how_long, who->shutdown);
    auto answer = co_await std::move(asking);
    const auto now = who->home->now();
    if (answer.has_error()) {
        who->machine.failed(answer.error(), now, who->uniform());
        co_return nullptr;
    }
    if (auto* won = std::get_if<std::shared_ptr<lease_state>>(&*answer)) {
        // Elected in the moment in which it was called off: no member serves such a term.
        if (who->shutdown.stop_requested()) {
            (*won)->not_started.store(true, std::memory_order_release);
            auto releasing = engine::release(who->home, std::move(*won));
            co_await std::move(releasing);
            co_return nullptr;
        }
        who->machine.elected(now);
        co_return std::move(*won);
    }
    if (!who->shutdown.stop_requested()) who->machine.rejected(now, who->uniform());
    co_return nullptr;
}

// On the loop. Nothing when the campaign is over.
awaitable<std::shared_ptr<lease_state>> next_term(std::shared_ptr<campaign_state> who) {
    for (;;) {
        if (who->shutdown.stop_requested()) who->machine.call_off();
        const auto step = who->machine.next(who->home->now());
        switch (step.what) {
            case election::act::claim: {
                auto campaigning = campaign(who);
                auto won = co_await std::move(campaigning);
                if (won) co_return won;
                break;
            }
            case election::act::rest: {
                auto resting = rest(who, step.until);
                co_await std::move(resting);
                break;
            }
            case election::act::serve:
                base::ensure(false);
                break;
            case election::act::over:
                co_return nullptr;
        }
    }
}

// What the body threw.
std::exception_ptr serve(const campaign_state& who, const lease& held, const term_body& body,
                         const std::stop_token& stop) {
    const term now{held.key(), held.token(), stop, who.machine.terms()};
    try {
        body(now);
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

std::uint64_t terms_of(const campaign_state& who) {
    if (const auto& fault = who.machine.fault()) throw store_error{*fault};
    return who.machine.terms();
}

// On the loop; each term has a thread of its own. `told` is what the candidate listens to.
awaitable<std::uint64_t> serve_terms(runtime::core& home, std::shared_ptr<campaign_state> who,
                                     std::shared_ptr<runtime::stops> told, term_body body) {
    const runtime::core::activity going_on{home};
    for (;;) {
        auto electing = next_term(who);
        auto won = co_await std::move(electing);
        if (!won) co_return terms_of(*who);
        lease held{std::move(won)};
        // Requested when the loop goes away during the term.
        std::stop_source abandoned;
        const runtime::combined_stop ending{told->token(), held.stop_token()};
        const runtime::combined_stop to_end{ending.token(), abandoned.get_token()};
        std::exception_ptr thrown;
        std::function<void()> work = [&] { thrown = serve(*who, held, body, to_end.token()); };
        auto working = runtime::on_thread(std::move(work), abandoned);
        co_await std::move(working);
        const auto how = runtime::end_of(held, who->options);
        auto releasing = held.async_release();
        co_await std::move(releasing);
        if (thrown) std::rethrow_exception(thrown);
        who->machine.ended(how, who->home->now(), who->uniform());
    }
}

awaitable<std::uint64_t> lead_on_loop(std::shared_ptr<runtime::link> way, runtime::core& home,
                                      std::string key, lease_options options, std::stop_token stop,
                                      term_body body) {
    auto there = runtime::reach(*way);
    std::stop_source gone;
    const auto told =
        std::make_shared<runtime::stops>(std::move(stop), gone.get_token(), home.closing());
    const auto who = stand(home, std::move(key), options, told->token(), body);
    auto leading = serve_terms(home, who, told, std::move(body));
    auto awaiting =
        runtime::await_there(std::move(there), std::move(leading), gone, net::leave::when_done);
    co_return co_await std::move(awaiting);
}

}  // namespace

std::uint64_t locks::lead(std::string_view key, const lease_options& options, std::stop_token stop,
                          const term_body& body) {
    const runtime::blocking_call on{core_.get()};
    const runtime::combined_stop ending{std::move(stop), on->closing()};
    const auto who = stand(*on, std::string{key}, options, ending.token(), body);
    while (auto won = on->loop().wait_for(next_term(who))) {
        lease held{std::move(won)};
        const runtime::combined_stop told{ending.token(), held.stop_token()};
        const auto thrown = serve(*who, held, body, told.token());
        const auto how = runtime::end_of(held, options);
        held.release();
        if (thrown) std::rethrow_exception(thrown);
        who->machine.ended(how, who->home->now(), who->uniform());
    }
    return terms_of(*who);
}

awaitable<std::uint64_t> locks::async_lead(std::string_view key, lease_options options,
                                           std::stop_token stop, const term_body& body) {
    auto& home = runtime::opened(core_.get());
    return lead_on_loop(home.home(), home, std::string{key}, options, std::move(stop), body);
}

}  // namespace pawl
