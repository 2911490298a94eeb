// A store on compare-and-swap beside the requests of its medium alone: two writes, each under the
// version of the one before.
#pragma once

#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <pawl/pawl.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace pawl::benchmarks {

// As long as what pawl writes.
inline const std::string granted_text =
    "1 lease token=1795184283285672 claim=0123456789abcdef0123456789abcdef owner=host:1:1:bare "
    "until=1795184313285672 last=1795184283285672";
inline const std::string released_text = "1 lease token=0 last=1795184283285672";

class bare_medium {
public:
    bare_medium(net::loop& where, std::shared_ptr<cas::medium> on)
        : where_{where}, on_{std::move(on)} {
        static_cast<void>(where_.wait_for(on_->prepare(later())).value());
    }

    void pair() {
        at_ = write(granted_text, std::move(at_));
        at_ = write(released_text, std::move(at_));
    }

private:
    static instant later() { return lease_clock::now() + std::chrono::seconds{10}; }
    static cas::record_name name() { return {cas::record_kind::lease, "bare"}; }

    cas::version write(const std::string& text, cas::version expected) {
        cas::change wanted{name(), text, std::move(expected)};
        const auto got = where_.wait_for(on_->write(std::move(wanted), later())).value();
        if (const auto* done = std::get_if<cas::written>(&got)) return done->at;
        throw std::runtime_error{"another one wrote"};
    }

    net::loop& where_;
    std::shared_ptr<cas::medium> on_;
    cas::version at_;  // nothing: there is no record yet
};

template <class Settings, class MakeMedium>
void compare_on(const std::string& name, Settings settings, MakeMedium make_medium,
                const std::string& url) {
    settings.common.name_space = "bare";
    net::loop where;
    bare_medium bare{where, make_medium(where, settings)};
    auto store = locks::open(url);
    // Servers compile what they run often, and a namespace is made once.
    for (int i = 0; i < 100; ++i) bare.pair();
    static_cast<void>(pairs_per_second(store, 4, 25));
    compare_one_caller(
        store, 200,
        name + ", acquire + release, one caller that blocks; bare: two writes under their versions",
        [&] { bare.pair(); });
    compare_one_coroutine(store, 10, 20, [&] { bare.pair(); });
}

}  // namespace pawl::benchmarks
