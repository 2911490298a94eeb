#include "schedule/position_finder.hpp"

#include "base/reserved_names.hpp"
#include "net/timer.hpp"

#include <limits>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// Of a key state all occurrences lie ahead of it.
constexpr occurrence before_all_occurrences{std::numeric_limits<std::int64_t>::min()};
// How long a node that starts asks for what it should know, before it goes by what it has.
constexpr millis knowledge_timeout{5'000};
constexpr millis knowledge_retry{500};
// What the keys of an agent's jobs begin with; those of a library's jobs begin with nothing in
// common.
const std::string agent_prefix{base::job_key_prefix};
// More keys than this are read off the list of all keys.
constexpr std::size_t keys_inspected_max = 200;

}  // namespace

// What has run last is known at the store, since when there is a schedule at the journal. A node
// that knows neither begins now.
awaitable<void> position_finder::find() {
    done_occurrences done;
    auto reading = read_done(done);
    const bool known = co_await std::move(reading);
    place(done, known ? positions::knowledge::all : positions::knowledge::in_part);
}

awaitable<void> position_finder::keep_finding() {
    while (!positions_.are_known() && !node_.stopping) {
        auto finding = find();
        co_await std::move(finding);
    }
}

// False when the store did not answer for as long as this node waits for it.
awaitable<bool> position_finder::read_done(done_occurrences& done) {
    bool listed = false;
    std::vector<std::string> others;
    for (const auto& [name, which] : jobs_.all()) {
        if (which->plan->key_prefix == agent_prefix) listed = true;
        if (which->plan->key_prefix == agent_prefix || !which->plan->when) continue;
        for (const auto& one : which->tracks) others.push_back(one->key);
    }
    if (others.size() > keys_inspected_max) {
        auto listing = list_done("", done);
        co_return co_await std::move(listing);
    }
    bool known = true;
    if (listed) {
        auto listing = list_done(agent_prefix, done);
        known = co_await std::move(listing);
    }
    auto inspecting = inspect_done(std::move(others), done);
    const bool inspected = co_await std::move(inspecting);
    co_return known&& inspected;
}

awaitable<bool> position_finder::list_done(std::string prefix, done_occurrences& done) {
    const auto end = node_.loop.now() + knowledge_timeout;
    std::string after;
    for (;;) {
        auto listing = node_.engine->store().list(prefix, after, page_limit_max);
        const auto page = co_await std::move(listing);
        if (page.has_error()) {
            auto asking = ask_again(page.error(), end);
            if (co_await std::move(asking)) continue;
            co_return false;
        }
        for (const auto& one : page->records)
            if (one.last_done) done[one.key] = number(*one.last_done);
        after = page->next;
        if (after.empty()) co_return true;
    }
}

awaitable<bool> position_finder::inspect_done(std::vector<std::string> keys,
                                              done_occurrences& done) {
    const auto end = node_.loop.now() + knowledge_timeout;
    for (std::size_t i = 0; i < keys.size();) {
        auto looking = node_.engine->store().inspect(keys[i]);
        const auto seen = co_await std::move(looking);
        if (seen.has_error()) {
            auto asking = ask_again(seen.error(), end);
            if (co_await std::move(asking)) continue;
            co_return false;
        }
        if (*seen && (*seen)->last_done) done[keys[i]] = number(*(*seen)->last_done);
        ++i;
    }
    co_return true;
}

// True after a pause; false, at once, when this node begins without knowing.
awaitable<bool> position_finder::ask_again(failure why, instant end) {
    if (node_.loop.now() > end || node_.stopping) {
        if (!std::exchange(node_.store_down, true))
            node_.log(log_level::warn, "last runs unknown, store unreachable: " + why.detail);
        co_return false;
    }
    net::timer pause{node_.loop.get_executor()};
    auto waiting = pause.wait_for(knowledge_retry);
    co_await std::move(waiting);
    co_return true;
}

void position_finder::place(const done_occurrences& done, positions::knowledge how_much) {
    const auto now = node_.now();
    positions::state_of_node node;
    node.store = how_much;
    node.is_ready = node_.ready;
    node.knows_pauses = control_.knows_pauses();
    node.retention = node_.engine->settings().retention;
    positions_.on_store_read(how_much, now);
    for (const auto& [name, which] : jobs_.all()) {
        if (!which->plan->when || !which->plan->enabled) continue;
        positions::scheduled_job its{name};
        its.on_store_down = which->plan->on_store_down;
        its.delivery = which->plan->queue.delivery;
        its.has_a_place = jobs_.times().next_of(which->entry).has_value();
        std::vector<std::optional<occurrence>> last;
        for (const auto& one : which->tracks) {
            const auto found = done.find(one->key);
            last.push_back(found == done.end() ? std::nullopt
                                               : std::optional{occurrence{found->second}});
            if (last.back())
                its.has_run(*last.back());
            else
                its.has_unrun_partition = !which->plan->has_slots;
        }
        if (which->plan->has_slots)
            its.last = positions_.last_of_slots(name, *which->plan->when, which->plan->queue,
                                                std::move(last), now);
        const auto position = positions_.begin_after(its, node, now);
        if (!position) continue;
        // They come due anew, in their order, with those before them.
        for (const auto& one : which->tracks)
            one->decisions.queue().forget_ahead(before_all_occurrences);
        jobs_.times().add(which->entry, *which->plan->when, *position, now);
    }
    node_.time_changed.cancel();
}

}  // namespace pawl::schedule
