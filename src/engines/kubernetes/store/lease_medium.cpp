#include "engines/kubernetes/store/lease_medium.hpp"

#include "base/percent.hpp"
#include "engines/kubernetes/store/object_names.hpp"
#include "time/clocks.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace pawl::kubernetes {
namespace {

// Objects in one answer to a list, and how often it is begun anew when its state is forgotten.
constexpr std::string_view page_size = "500";
constexpr int list_tries_max = 3;
// What the clocks of the API servers of one cluster may differ by, unless the URL says.
constexpr micros skew_default{std::chrono::seconds{2}};
// A whole second is what leaseDurationSeconds can say.
constexpr millis ttl_min{1000};

}  // namespace

lease_medium::lease_medium(net::loop& where, std::shared_ptr<api> server, medium_settings settings)
    : where_{where},
      server_{std::move(server)},
      settings_{std::move(settings)},
      changes_{change_stream::make(where, server_,
                                   selector_of(settings_.name_space, cas::record_kind::lease),
                                   settings_.timeout)} {}

lease_medium::~lease_medium() { changes_->close_from_anywhere(); }

cas::medium_traits lease_medium::traits() const noexcept {
    cas::medium_traits traits;
    traits.clock_step = clock_step;
    traits.skew = skew_default;
    traits.watches = true;
    traits.ttl_min = ttl_min;
    return traits;
}

std::string lease_medium::place() const { return server_->place(); }

std::string lease_medium::object_of(const cas::record_name& name) const {
    return object_name(settings_.name_space, name);
}

failure lease_medium::fault(errc code, const std::string& what) const {
    return {code, place() + ": " + what};
}

std::optional<cas::stamp> lease_medium::hear(const net::https_response& told) {
    if (!told.date) return std::nullopt;
    cas::stamp clock;
    clock.at = *told.date;
    clock.asked = told.asked;
    clock.answered = told.answered;
    newest_ = clock;
    return clock;
}

// For people, and for those who watch whether it moves.
micros lease_medium::clock_now() const {
    if (!newest_) return time::wall_now().time_since_epoch();
    return newest_->at + std::chrono::floor<micros>(where_.now() - newest_->answered);
}

// An object that the core did not make carries no text of its own, but may be a foreign lease.
result<cas::seen> lease_medium::understand(const cas::record_name& name, const lease_object& object,
                                           const std::optional<cas::stamp>& clock) const {
    if (!object.key.empty() && object.key != name.key)
        return fault(errc::rejected, "the Lease '" + object.name + "' is of another key");
    cas::seen now;
    now.at = version_of(object);
    now.clock = clock;
    if (name.kind == cas::record_kind::lease)
        now.text = text_for_core(object, clock, settings_.trusted);
    else
        now.text = object.text;
    if (now.text.empty())
        return fault(errc::rejected, "the Lease '" + object.name + "' is not pawl's");
    return now;
}

async<std::string> lease_medium::prepare(instant) { co_return std::string{}; }

async<cas::seen> lease_medium::read(cas::record_name name, instant until) {
    const auto self = shared_from_this();
    api_request wanted{verb::get, server_->lease(object_of(name))};
    auto asking = server_->ask(std::move(wanted), until);
    const auto told = co_await std::move(asking);
    if (told.has_error()) co_return told.error();
    const auto clock = hear(*told);
    if (is_missing_object(told->status, told->body)) {
        cas::seen nothing;
        nothing.clock = clock;
        co_return nothing;
    }
    if (told->status != 200) co_return server_->rejection(verb::get, *told);
    const auto object = parse_object(told->body);
    if (!object) co_return fault(errc::protocol, "the answer is not a Lease");
    co_return understand(name, *object, clock);
}

result<cas::write_answer> lease_medium::settle(verb what, const net::https_response& told) {
    const auto clock = hear(told);
    if (told.status == 200 || told.status == 201) {
        cas::written now;
        now.clock = clock;
        if (what == verb::erase) return cas::write_answer{now};
        const auto object = parse_object(told.body);
        if (!object) return fault(errc::outcome_unknown, "the answer to a write is not a Lease");
        now.at = version_of(*object);
        return cas::write_answer{now};
    }
    cas::conflict lost;
    lost.clock = clock;
    if (told.status == 409) return cas::write_answer{lost};
    if (what != verb::create && is_missing_object(told.status, told.body)) {
        lost.now.emplace().clock = clock;
        return cas::write_answer{lost};
    }
    return server_->rejection(what, told);
}

async<cas::write_answer> lease_medium::write(cas::change change, instant until) {
    const auto self = shared_from_this();
    const auto& space = settings_.name_space;
    const auto object = object_of(change.name);
    const auto what = change.expected.empty() ? verb::create : verb::patch;
    api_request wanted{what, server_->leases()};
    if (what == verb::create) {
        wanted.body = body_of_create(space, change.name, object, change.text, clock_now());
    } else {
        const auto expected = parse_version(change.expected);
        if (!expected) co_return fault(errc::rejected, "invalid version '" + change.expected + "'");
        wanted.target = server_->lease(object);
        wanted.body = body_of_patch(space, change.name, change.text, *expected, clock_now());
    }
    auto asking = server_->ask(std::move(wanted), until);
    const auto told = co_await std::move(asking);
    if (told.has_error()) co_return told.error();
    co_return settle(what, *told);
}

async<cas::write_answer> lease_medium::erase(cas::record_name name, cas::version expected,
                                             instant until) {
    const auto self = shared_from_this();
    const auto known = parse_version(expected);
    if (!known) co_return fault(errc::rejected, "invalid version '" + expected + "'");
    api_request wanted{verb::erase, server_->lease(object_of(name)), body_of_delete(*known)};
    auto asking = server_->ask(std::move(wanted), until);
    const auto told = co_await std::move(asking);
    if (told.has_error()) co_return told.error();
    co_return settle(verb::erase, *told);
}

// All pages are of one state; one that the server has forgotten meanwhile is read anew.
async<std::vector<lease_object>> lease_medium::all(cas::record_kind kind, instant until,
                                                   std::optional<cas::stamp>& clock) {
    const auto first = server_->leases() + "?limit=" + std::string{page_size} + "&labelSelector=" +
                       base::percent_encode(selector_of(settings_.name_space, kind));
    std::vector<lease_object> found;
    std::string more;
    for (int tries = 0;;) {
        api_request wanted{
            verb::list, more.empty() ? first : first + "&continue=" + base::percent_encode(more)};
        auto asking = server_->ask(std::move(wanted), until);
        const auto told = co_await std::move(asking);
        if (told.has_error()) co_return told.error();
        clock = hear(*told);
        if (told->status == 410 && ++tries < list_tries_max) {
            found.clear();
            more.clear();
            continue;
        }
        if (told->status != 200) co_return server_->rejection(verb::list, *told);
        auto page = parse_list(told->body);
        if (!page) co_return fault(errc::protocol, "the answer is not a list of leases");
        std::move(page->objects.begin(), page->objects.end(), std::back_inserter(found));
        more = std::move(page->more);
        if (more.empty()) co_return std::move(found);
    }
}

// The server's order is that of the names, in which a digest stands.
async<cas::listing> lease_medium::list(cas::list_order what, instant until) {
    const auto self = shared_from_this();
    std::optional<cas::stamp> clock;
    auto reading = all(what.kind, until, clock);
    auto found = co_await std::move(reading);
    if (found.has_error()) co_return found.error();
    auto& objects = *found;
    std::erase_if(objects, [&](const lease_object& one) {
        return one.key <= what.after || !one.key.starts_with(what.prefix) ||
               one.name != object_of({what.kind, one.key});
    });
    std::sort(objects.begin(), objects.end(),
              [](const auto& one, const auto& other) { return one.key < other.key; });
    cas::listing page;
    page.more = objects.size() > what.limit;
    if (page.more) objects.resize(what.limit);
    for (const auto& one : objects) {
        const cas::record_name name{what.kind, one.key};
        auto now = understand(name, one, clock);
        if (now.has_error()) co_return now.error();
        page.records.emplace_back(one.key, *std::move(now));
    }
    co_return page;
}

// What changed before the server began to tell is seen by a look.
async<void> lease_medium::watch(cas::record_name name, cas::version known) {
    const auto self = shared_from_this();
    net::change_watch waiting{changes_, object_of(name)};
    auto confirming = waiting.confirmed();
    const auto confirmed = co_await std::move(confirming);
    if (confirmed.has_error()) co_return confirmed.error();
    auto looking = read(name, where_.now() + settings_.timeout);
    const auto now = co_await std::move(looking);
    if (now.has_error()) co_return now.error();
    if (now->at != known) co_return result<void>{};
    // A cancellation that came with the answer ends no wait that begins after it.
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    auto ringing = waiting.notified();
    co_return co_await std::move(ringing);
}

}  // namespace pawl::kubernetes
