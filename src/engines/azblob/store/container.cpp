#include "engines/azblob/store/container.hpp"

#include "net/timer.hpp"

#include <utility>

namespace pawl::azblob {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds look_again_after = 200ms;

}  // namespace

container::container(net::loop& where, std::shared_ptr<service> on, const std::string& account,
                     std::string name, const std::string& prefix, std::string probe)
    : where_{where},
      service_{std::move(on)},
      account_{account},
      name_{std::move(name)},
      place_{"azblob://" + account + "/" + name_ + (prefix.empty() ? "" : "/" + prefix)},
      probe_{"/" + std::move(probe)} {}

async<reply> container::send(net::https_request request, instant until) {
    const auto self = shared_from_this();
    request.target = "/" + name_ + request.target;
    auto asking = service_->ask(std::move(request), until);
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    has_answered_ = true;
    reply made;
    if (got->date) made.clock = cas::stamp{*got->date, got->asked, got->answered};
    made.succeeded = got->status >= 200 && got->status < 300;
    if (!made.succeeded) made.rejected = read_rejection(*got);
    made.answer = std::move(*got);
    co_return made;
}

async<reply> container::ask(net::https_request request, effect what, expectation expected,
                            instant until) {
    const auto self = shared_from_this();
    // One that is made again has another history, which its name does not tell.
    const auto was_deleted = [this] {
        return failure{errc::rejected,
                       place_ + ": the container was deleted; restart what uses it"};
    };
    if (gone_) co_return was_deleted();
    request.only_reads = what == effect::none;
    auto sending = send(std::move(request), until);
    auto got = co_await std::move(sending);
    if (got.has_error() || got->succeeded || expected(got->rejected)) co_return got;
    if (known_ && lacks_container(got->rejected)) {
        gone_ = true;
        co_return was_deleted();
    }
    co_return explain_rejection(place_, got->rejected, what);
}

async<std::string> container::prepare(instant until) {
    const auto self = shared_from_this();
    for (;;) {
        // Whether there is such a blob or not, the answer tells of the container, and needs no
        // right but to read.
        net::https_request looking{"HEAD", probe_};
        auto sending = send(std::move(looking), until);
        const auto found = co_await std::move(sending);
        if (found.has_error()) co_return found.error();
        if (found->succeeded || lacks_blob(found->rejected)) {
            if (found->answer.field("x-ms-request-id").empty())
                co_return failure{errc::protocol,
                                  place_ + ": this is not Azure Blob Storage: another server"};
            known_ = true;
            gone_ = false;
            co_return account_ + "/" + name_;
        }
        if (!lacks_container(found->rejected))
            co_return explain_rejection(place_, found->rejected, effect::none);
        auto creating = create(until);
        const auto created = co_await std::move(creating);
        if (created.has_error()) co_return created.error();
        if (*created) continue;
        // One that is being deleted keeps its name for half a minute and more.
        if (where_.now() + look_again_after >= until)
            co_return failure{errc::unreachable, place_ + ": the container is not ready yet"};
        auto pausing = net::sleep_for(look_again_after);
        co_await std::move(pausing);
    }
}

async<bool> container::create(instant until) {
    net::https_request request{"PUT", "?restype=container"};
    auto sending = send(std::move(request), until);
    const auto got = co_await std::move(sending);
    if (got.has_error()) {
        // It may have been made, and is looked for again.
        if (got.error().code == errc::outcome_unknown) co_return false;
        co_return got.error();
    }
    if (got->succeeded) co_return true;
    // Another process has made it, or one of this name is being deleted.
    if (got->rejected.status == 409 || got->rejected.status >= 500) co_return false;
    const auto why = explain_rejection(place_, got->rejected, effect::writes);
    co_return failure{why.code, why.detail + "; there is no container '" + name_ +
                                    "', and it cannot be made: docs/stores/azblob.md shows how"};
}

}  // namespace pawl::azblob
