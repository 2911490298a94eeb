#include "cli/exec/exec_claim.hpp"

#include "runtime/checks.hpp"
#include "runtime/engine.hpp"

#include <utility>
#include <variant>

namespace pawl::cli {

acquire_result<lease> exec_claim::ask(const wait_policy& waiting, std::stop_token stop) {
    const auto& where = home_.running();
    runtime::check_claim(*where, key_, options_, waiting);
    auto asking = [&]() -> async<runtime::claimed> {
        kept_ = where->claims()->new_claim();
        auto claiming =
            runtime::engine::acquire_with_reason(where, key_, options_, waiting, stop, kept_);
        co_return co_await std::move(claiming);
    };
    auto answer = home_.loop().wait_for(asking());
    auto& what = answer.value();
    if (auto* won = std::get_if<std::shared_ptr<runtime::lease_state>>(&what)) {
        lease held{std::move(*won)};
        if (!stop.stop_requested()) return held;
        // Granted to one that does not want it any more: it goes back with its occurrence.
        held.mark_not_started();
        held.release();
        return busy{};
    }
    if (const auto* done = std::get_if<already_done>(&what)) return *done;
    auto* other = std::get_if<busy>(&what);
    return other != nullptr ? std::move(*other) : busy{};
}

void exec_claim::withdraw() {
    if (!kept_ || !kept_->attempts.unanswered) return;
    auto withdrawing = [this]() -> boost::asio::awaitable<void> {
        withdrawal given_up{key_, kept_->id, options_.occurrence};
        runtime::claimer::withdraw_later(home_.running()->claims(), std::move(given_up),
                                         kept_->attempts, options_);
        kept_.reset();
        co_return;
    };
    home_.loop().wait_for(withdrawing());
}

}  // namespace pawl::cli
