#include "engines/cas/journal/journal_records.hpp"

#include "base/hex.hpp"

#include <algorithm>

namespace pawl::cas {
namespace {

constexpr std::size_t reads_a_request = 100;
constexpr std::size_t list_page = 1000;
// Beyond so many nothing is remembered of those before: a look is due then.
constexpr std::size_t remembered_max = 8192;
// Of what is longer the version is remembered.
constexpr std::size_t remembered_text_max = std::size_t{16} * 1024;
constexpr std::int64_t micros_a_milli = 1000;
constexpr int number_bits_below_a_milli = 21;
constexpr int number_bits_below_a_micro = 11;

}  // namespace

// The journal's clock is as good as one answer: to how far others may differ nothing is added.
journal_records::journal_records(net::loop& where, const store_settings& settings,
                                 std::shared_ptr<medium> on)
    : timeout_{settings.timeout},
      versioned_records_{std::make_shared<versioned_records>(where, std::move(on), millis{0})},
      space_{std::make_shared<name_space>(versioned_records_, timeout_)} {}

millis journal_records::blur() const {
    return std::chrono::ceil<millis>(versioned_records_->traits().clock_step);
}

result<std::int64_t> journal_records::time() const {
    const auto bounds = versioned_records_->clock();
    if (bounds.has_error()) return bounds.error();
    return std::chrono::floor<millis>(bounds->low).count();
}

result<std::int64_t> journal_records::latest_time() const {
    const auto bounds = versioned_records_->clock();
    if (bounds.has_error()) return bounds.error();
    return std::chrono::ceil<millis>(bounds->high).count();
}

// 42 bits of milliseconds, 10 of microseconds, and random ones, so that two processes seldom meet.
result<std::uint64_t> journal_records::fresh_number() {
    const auto bounds = versioned_records_->clock();
    if (bounds.has_error()) return bounds.error();
    const auto micros_now = std::max<std::int64_t>(bounds->low.count(), 0);
    std::uint64_t random_bits = 0;
    for (const char digit : versioned_records_->fresh_nonce().substr(0, 3))
        random_bits = random_bits << 4 | static_cast<std::uint64_t>(base::hex_value(digit));
    const auto millis_now = static_cast<std::uint64_t>(micros_now / micros_a_milli);
    const auto rest = static_cast<std::uint64_t>(micros_now % micros_a_milli);
    const auto number = millis_now << number_bits_below_a_milli |
                        rest << number_bits_below_a_micro |
                        (random_bits & ((1U << number_bits_below_a_micro) - 1));
    last_number_ = std::max(number, last_number_ + 1);
    return last_number_;
}

std::int64_t journal_records::time_of(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number >> number_bits_below_a_milli);
}

async<seen> journal_records::read(std::string key, instant until) {
    const auto self = shared_from_this();
    record_name name{record_kind::journal, std::move(key)};
    auto reading = versioned_records_->read(std::move(name), until);
    co_return co_await std::move(reading);
}

async<std::vector<seen>> journal_records::read_many(std::vector<std::string> keys, instant until) {
    const auto self = shared_from_this();
    std::vector<seen> all;
    all.reserve(keys.size());
    for (std::size_t begin = 0; begin < keys.size(); begin += reads_a_request) {
        std::vector<record_name> names;
        const auto end = std::min(keys.size(), begin + reads_a_request);
        for (auto i = begin; i < end; ++i) names.emplace_back(record_kind::journal, keys[i]);
        auto reading = versioned_records_->read_many(std::move(names), until);
        auto got = co_await std::move(reading);
        if (got.has_error()) co_return got.error();
        for (auto& each : *got) all.push_back(std::move(each));
    }
    co_return all;
}

async<listing> journal_records::list(std::string prefix, std::string after, std::size_t limit,
                                     instant until) {
    const auto self = shared_from_this();
    auto listing_them = versioned_records_->list(
        {record_kind::journal, std::move(prefix), std::move(after), limit}, until);
    co_return co_await std::move(listing_them);
}

async<std::vector<std::pair<std::string, seen>>> journal_records::list_all(std::string prefix,
                                                                           instant until) {
    const auto self = shared_from_this();
    std::vector<std::pair<std::string, seen>> all;
    for (std::string after;;) {
        auto listing_them = list(prefix, after, list_page, until);
        auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        for (auto& each : page->records) all.push_back(std::move(each));
        if (!page->more || page->records.empty()) co_return all;
        after = all.back().first;
    }
}

async<bool> journal_records::create(std::string key, std::string text, instant until) {
    const auto self = shared_from_this();
    bool doubted = false;
    int lost = 0;
    do {
        change wanted{{record_kind::journal, key}, text, {}};
        auto writing = versioned_records_->write(std::move(wanted), until);
        const auto got = co_await std::move(writing);
        seen mine;
        if (got.has_value() && std::holds_alternative<written>(*got)) {
            mine.at = std::get<written>(*got).at;
            remember(key, std::move(mine));
            co_return true;
        }
        if (got.has_value() && !doubted) co_return false;
        if (got.has_error() && got.error().code != errc::outcome_unknown)
            co_return failure{doubted ? errc::outcome_unknown : got.error().code,
                              got.error().detail};
        // What stands there may be an earlier write of this text.
        doubted = true;
        if (got.has_error()) {
            auto pausing = versioned_records_->pause_for_the_server(++lost, until);
            co_await std::move(pausing);
        }
        auto reading = read(key, until);
        const auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return failure{errc::outcome_unknown, stands.error().detail};
        if (stands->at.empty()) continue;
        if (stands->text != text) co_return false;
        mine.at = stands->at;
        remember(key, std::move(mine));
        co_return true;
    } while (now() < until);
    co_return failure{errc::outcome_unknown, too_slow().detail};
}

async<void> journal_records::put(std::string key,
                                 std::function<std::string(std::string nonce)> text,
                                 instant until) {
    const auto self = shared_from_this();
    auto known = recall(key);
    // Mostly there is none.
    if (!known) known.emplace();
    decide_step<bool> decide = [&](const seen&, std::string nonce) -> async<decision<bool>> {
        decision<bool> made{true};
        made.text = text(std::move(nonce));
        co_return made;
    };
    auto writing = amend<bool>(key, std::move(known), until, std::move(decide));
    const auto done = co_await std::move(writing);
    if (done.has_error()) co_return done.error();
    co_return result<void>{};
}

async<bool> journal_records::remove(std::string key,
                                    std::function<result<bool>(const seen&)> unwanted,
                                    instant until) {
    const auto self = shared_from_this();
    const record_name name{record_kind::journal, key};
    versioned_records::progress so_far{fresh_nonce()};
    do {
        auto reading = read(key, until);
        const auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return so_far.unsettled(stands.error());
        // It went by this hand or by another one.
        if (so_far.doubted && stands->at != *so_far.doubted)
            co_return failure{errc::outcome_unknown, "journal: the answer to a deletion is lost"};
        if (stands->at.empty()) co_return false;
        const auto goes = unwanted(*stands);
        if (goes.has_error()) co_return so_far.unsettled(goes.error());
        if (!*goes) co_return false;
        forget(key);
        auto erasing = versioned_records_->erase(name, stands->at, until);
        const auto got = co_await std::move(erasing);
        if (got.has_value() && std::holds_alternative<written>(*got)) co_return true;
        if (got.has_error() && got.error().code != errc::outcome_unknown)
            co_return so_far.unsettled(got.error());
        if (got.has_error()) so_far.doubted = stands->at;
        auto pausing = got.has_error()
                           ? versioned_records_->pause_for_the_server(++so_far.lost, until)
                           : versioned_records_->back_off(++so_far.conflicts);
        co_await std::move(pausing);
    } while (now() < until);
    co_return so_far.unsettled(too_slow());
}

boost::asio::awaitable<bool> journal_records::tidy(std::vector<place_and_version> gone,
                                                   instant until) {
    const auto self = shared_from_this();
    bool all = true;
    for (auto& [key, at] : gone) {
        if (now() >= until) co_return false;
        if (at.empty()) continue;
        if (const auto known = recall(key); known && known->at == at) forget(key);
        auto erasing = versioned_records_->erase({record_kind::journal, key}, at, until);
        const auto erased = co_await std::move(erasing);
        all = all && erased.has_value();
    }
    co_return all;
}

boost::asio::awaitable<bool> journal_records::tidy(std::string key, instant until) {
    const auto self = shared_from_this();
    auto reading = read(key, until);
    const auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return false;
    std::vector<place_and_version> gone{{key, stands->at}};
    auto tidying = tidy(std::move(gone), until);
    co_return co_await std::move(tidying);
}

async<std::vector<result<write_answer>>> journal_records::write_many(std::vector<change> changes,
                                                                     instant until) {
    const auto self = shared_from_this();
    for (const auto& each : changes) forget(each.name.key);
    auto writing = versioned_records_->write_many(changes, until);
    auto got = co_await std::move(writing);
    if (got.has_error()) co_return got.error();
    for (std::size_t i = 0; i < changes.size() && i < got->size(); ++i) {
        if ((*got)[i].has_error()) continue;
        const auto* done = std::get_if<written>(&*(*got)[i]);
        if (done == nullptr) continue;
        seen mine;
        mine.text = std::move(changes[i].text);
        mine.at = done->at;
        remember(changes[i].name.key, std::move(mine));
    }
    co_return got;
}

std::optional<seen> journal_records::recall(const std::string& key) const {
    const auto found = known_.find(key);
    if (found == known_.end()) return std::nullopt;
    return found->second;
}

std::optional<seen> journal_records::recall_text(const std::string& key) const {
    auto known = recall(key);
    if (known && known->text.empty()) known.reset();
    return known;
}

void journal_records::remember(const std::string& key, seen what) {
    if (known_.size() >= remembered_max) known_.clear();
    what.clock.reset();
    if (what.text.size() > remembered_text_max) what.text = {};
    known_.insert_or_assign(key, std::move(what));
}

failure journal_records::too_slow() const {
    return {errc::unreachable,
            versioned_records_->place() + ": the journal's record changes too often"};
}

}  // namespace pawl::cas
