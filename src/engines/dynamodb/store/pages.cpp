#include "engines/dynamodb/store/pages.hpp"

#include "net/for_each_bounded.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace pawl::dynamodb {
namespace {

constexpr std::size_t buckets_at_once = 8;
// What is asked of a bucket beyond its share, so that few are asked twice.
constexpr std::size_t spare = 8;
constexpr std::chrono::milliseconds pause_for_the_rest{50};

struct bucket_page {
    std::deque<keyed_record> records;
    std::string read_to;  // the last key that was read
    bool more = true;     // behind it
};

struct merge {
    merge(std::shared_ptr<table> on, place_of_items place, cas::list_order what)
        : on{std::move(on)},
          place{std::move(place)},
          what{std::move(what)},
          scope{is_journal() ? scope_of(this->what.prefix) : std::string_view{}},
          pages(is_journal() ? 1 : buckets) {}
    bool is_journal() const { return what.kind == cas::record_kind::journal; }

    std::shared_ptr<table> on;
    place_of_items place;
    cas::list_order what;
    const std::string scope;  // of a journal's list, which has one partition
    std::vector<bucket_page> pages;
    std::optional<cas::stamp> clock;
};

async<void> read_page(std::shared_ptr<merge> all, std::size_t bucket, instant until) {
    auto& page = all->pages[bucket];
    const auto& what = all->what;
    const auto before = page.read_to;
    const auto after = std::max(what.after, before);
    const auto share = all->is_journal()
                           ? what.limit + 1
                           : std::min(what.limit + 1, what.limit / buckets * 2 + spare);
    auto request = all->is_journal()
                       ? list_scope_request(all->place, what.prefix, after, share)
                       : list_request(all->place, what.kind, bucket, what.prefix, after, share);
    if (!request) {
        page.more = false;
        co_return result<void>{};
    }
    auto asking = all->on->ask("Query", std::move(*request), effect::none, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    all->clock = got->clock;
    const auto* items = got->body.if_contains("Items");
    if (items == nullptr || !items->is_array())
        co_return failure{errc::protocol,
                          all->on->place() + ": this is not DynamoDB: a page without items"};
    page.more = got->body.if_contains("LastEvaluatedKey") != nullptr;
    for (const auto& item : items->get_array()) {
        auto found = read_listed_item(item);
        if (!found) continue;
        found->key.insert(0, all->scope);
        page.read_to = found->key;
        if (!found->key.starts_with(what.prefix)) continue;
        found->stands.clock = got->clock;
        page.records.push_back(std::move(*found));
    }
    // Nothing of it was ours, so that there is no key to go on behind.
    if (page.more && page.read_to == before)
        co_return failure{errc::rejected,
                          all->on->place() + ": items of the namespace are no records of pawl"};
    co_return result<void>{};
}

const boost::json::array* array_at(const boost::json::object& body, std::string_view member,
                                   const std::string& table) {
    const auto* outer = body.if_contains(member);
    if (outer == nullptr || !outer->is_object()) return nullptr;
    const auto* inner = outer->get_object().if_contains(table);
    return inner == nullptr ? nullptr : inner->if_array();
}

// What one answer had no room for, or no capacity.
boost::json::array unprocessed_of(const boost::json::object& body, const std::string& table) {
    const auto* outer = body.if_contains("UnprocessedKeys");
    if (outer == nullptr || !outer->is_object()) return {};
    const auto* of_table = outer->get_object().if_contains(table);
    if (of_table == nullptr || !of_table->is_object()) return {};
    const auto* keys = of_table->get_object().if_contains("Keys");
    return keys == nullptr || !keys->is_array() ? boost::json::array{} : keys->get_array();
}

// The bucket with the lowest key; nothing: all are at their end.
std::optional<std::size_t> lowest(const merge& all) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < all.pages.size(); ++i) {
        const auto& records = all.pages[i].records;
        if (records.empty()) continue;
        if (!best || records.front().key < all.pages[*best].records.front().key) best = i;
    }
    return best;
}

}  // namespace

async<cas::listing> list_records(std::shared_ptr<table> on, place_of_items place,
                                 cas::list_order what, instant until) {
    const auto all = std::make_shared<merge>(std::move(on), std::move(place), std::move(what));
    net::bounded_step step = [all, until](std::size_t bucket) {
        return read_page(all, bucket, until);
    };
    auto reading =
        net::for_each_bounded(all->pages.size(), buckets_at_once, std::move(step), until);
    const auto read = co_await std::move(reading);
    if (read.has_error()) co_return read.error();
    cas::listing made;
    for (;;) {
        // A bucket whose page is used up may have the next key.
        for (std::size_t i = 0; i < all->pages.size(); ++i) {
            while (all->pages[i].records.empty() && all->pages[i].more) {
                auto reading_on = read_page(all, i, until);
                const auto more = co_await std::move(reading_on);
                if (more.has_error()) co_return more.error();
            }
        }
        const auto next = lowest(*all);
        if (!next) co_return made;
        if (made.records.size() == all->what.limit) {
            made.more = true;
            co_return made;
        }
        auto& records = all->pages[*next].records;
        made.records.emplace_back(std::move(records.front().key),
                                  std::move(records.front().stands));
        records.pop_front();
    }
}

async<std::vector<cas::seen>> read_records(std::shared_ptr<table> on, place_of_items place,
                                           std::vector<cas::record_name> names, instant until) {
    std::vector<cas::seen> all(names.size());
    boost::json::array left;
    std::vector<std::string> wanted;
    for (auto& key : keys_of(place, names)) {
        wanted.push_back(identity_of(key));
        // A request that names an item twice is rejected.
        if (std::find(wanted.begin(), wanted.end() - 1, wanted.back()) == wanted.end() - 1)
            left.push_back(std::move(key));
    }
    std::optional<cas::stamp> clock;
    while (!left.empty()) {
        auto asking =
            on->ask("BatchGetItem", read_many_request(place, std::move(left)), effect::none, until);
        const auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        clock = got->clock;
        const auto* items = array_at(got->body, "Responses", place.table);
        if (items == nullptr)
            co_return failure{errc::protocol,
                              on->place() + ": this is not DynamoDB: an answer without its items"};
        for (const auto& item : *items) {
            const auto found = read_listed_item(item);
            const auto which = identity_of(item);
            for (std::size_t i = 0; i < wanted.size(); ++i)
                if (wanted[i] == which) all[i] = found ? found->stands : cas::foreign_record();
        }
        left = unprocessed_of(got->body, place.table);
        if (left.empty()) break;
        auto pausing = net::sleep_for(pause_for_the_rest);
        co_await std::move(pausing);
    }
    for (auto& each : all) each.clock = clock;
    co_return all;
}

}  // namespace pawl::dynamodb
