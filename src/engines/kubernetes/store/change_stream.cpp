#include "engines/kubernetes/store/change_stream.hpp"

#include "base/duration.hpp"
#include "base/percent.hpp"
#include "engines/kubernetes/store/lease_object.hpp"

#include <chrono>
#include <utility>

namespace pawl::kubernetes {
namespace {

// The server ends a watch after this long, so that one whose connection is dead without a word is
// found out soon after.
constexpr std::chrono::seconds watched_for{120};
constexpr std::chrono::seconds found_dead_after{150};

}  // namespace

std::shared_ptr<change_stream> change_stream::make(net::loop& where, std::shared_ptr<api> server,
                                                   std::string selector, millis timeout) {
    auto made =
        std::make_shared<change_stream>(where, std::move(server), std::move(selector), timeout);
    made->attach_to(where);
    return made;
}

change_stream::change_stream(net::loop& where, std::shared_ptr<api> server, std::string selector,
                             millis timeout)
    : change_listener{where},
      where_{where},
      server_{std::move(server)},
      selector_{base::percent_encode(selector)},
      timeout_{timeout} {}

failure change_stream::unconfirmed() const {
    return {errc::unreachable,
            server_->place() + ": no watch within " + base::format_duration(timeout_)};
}

// From a state that is newest now: what changed before is seen by those who wait when they look.
async<void> change_stream::open() {
    const auto until = where_.now() + timeout_;
    const auto chosen = server_->leases() + "?labelSelector=" + selector_;
    auto listing = server_->ask(api_request{verb::list, chosen + "&limit=1"}, until);
    const auto told = co_await std::move(listing);
    if (told.has_error()) co_return told.error();
    if (told->status != 200) co_return server_->rejection(verb::list, *told);
    const auto list = parse_list(told->body);
    if (!list)
        co_return failure{errc::protocol,
                          server_->place() + ": the answer is not a list of leases"};
    auto opening = server_->watch(chosen + "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" +
                                      std::to_string(watched_for.count()) +
                                      "&resourceVersion=" + list->resource_version,
                                  until);
    auto opened = co_await std::move(opening);
    if (opened.has_error()) co_return opened.error();
    if (is_closed()) co_return failure{errc::unreachable, "the store was closed"};
    lines_ = *std::move(opened);
    for (auto& [name, where] : places_) confirm(where);
    co_return result<void>{};
}

boost::asio::awaitable<void> change_stream::listen() {
    const auto lines = lines_;
    while (!is_closed() && lines == lines_) {
        auto reading = lines->next(where_.now() + found_dead_after);
        const auto line = co_await std::move(reading);
        if (line.has_error() || !*line) co_return;
        if ((*line)->empty()) continue;
        const auto event = parse_event(**line);
        // An error, such as 410: what has changed meanwhile is no longer known.
        if (!event || event->type == "ERROR") co_return;
        const auto told = places_.find(event->name);
        if (event->type != "BOOKMARK" && told != places_.end()) tell(told->second);
    }
}

void change_stream::name_came(const std::string&, place& where) {
    if (lines_) confirm(where);
}

void change_stream::loop_ends() {
    change_listener::loop_ends();
    lines_.reset();
}

}  // namespace pawl::kubernetes
