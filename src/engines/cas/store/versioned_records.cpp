#include "engines/cas/store/versioned_records.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstdint>

namespace pawl::cas {
namespace {

// After so long without a stamp the bounds of the clock are a second or so further apart, and a
// read costs less than a lease that ends later.
constexpr std::chrono::minutes stamp_age_max{10};

// Free keys that are remembered: those that are held are bounded by who holds them.
constexpr std::size_t free_remembered_max = 1024;
constexpr std::size_t sightings_max = 1024;
// Who wants a key looks at it more often than that.
constexpr std::chrono::hours sighting_age_max{1};

// The first conflicts are answered at once: another process has made progress.
constexpr int conflicts_at_once = 3;
constexpr std::chrono::milliseconds back_off_max{100};

// A connection that was cut costs next to nothing; a server that fails all writes, and says so at
// once, is not asked more than one that does not.
constexpr std::chrono::milliseconds lost_pause{10};
constexpr std::chrono::milliseconds lost_pause_max{1'000};

}  // namespace

versioned_records::versioned_records(net::loop& where, std::shared_ptr<medium> on, millis skew)
    : where_{where},
      on_{std::move(on)},
      traits_{on_->traits()},
      clock_{traits_.clock_step, skew},
      ids_{where.ids()},
      random_{where.clocks().seed()} {}

async<seen> versioned_records::read(record_name name, instant until) {
    const auto self = shared_from_this();
    auto reading = on_->read(std::move(name), until);
    auto got = co_await std::move(reading);
    if (got.has_value()) clock_.hear(got->clock);
    co_return got;
}

async<std::vector<seen>> versioned_records::read_many(std::vector<record_name> names,
                                                      instant until) {
    const auto self = shared_from_this();
    auto reading = on_->read_many(std::move(names), until);
    auto got = co_await std::move(reading);
    if (got.has_value())
        for (const auto& each : *got) clock_.hear(each.clock);
    co_return got;
}

async<write_answer> versioned_records::write(change what, instant until) {
    const auto self = shared_from_this();
    if (what.name.kind == record_kind::lease) forget(what.name.key);
    const bool asks_time = what.asks_time;
    auto writing = on_->write(std::move(what), until);
    auto got = co_await std::move(writing);
    hear(got);
    // Without the time that it asked for it is unknown whether what it wrote is over.
    if (asks_time && got.has_value() && tells_no_time(*got))
        co_return failure{errc::outcome_unknown, place() +
                                                     ": the answer to a write does not report the "
                                                     "time, by which it may be over"};
    co_return got;
}

bool tells_no_time(const write_answer& answer) noexcept {
    const auto* done = std::get_if<written>(&answer);
    return done != nullptr && !done->clock;
}

void versioned_records::hear(const result<write_answer>& got) {
    if (got.has_value()) std::visit([&](const auto& end) { clock_.hear(end.clock); }, *got);
}

async<write_answer> versioned_records::erase(record_name name, version expected, instant until) {
    if (name.kind == record_kind::lease) forget(name.key);
    return on_->erase(std::move(name), std::move(expected), until);
}

async<std::vector<result<write_answer>>> versioned_records::write_many(
    std::span<const change> changes, instant until) {
    const auto self = shared_from_this();
    for (const auto& each : changes)
        if (each.name.kind == record_kind::lease) forget(each.name.key);
    auto got = co_await on_->write_many(changes, until);
    if (got.has_value())
        for (const auto& each : *got) hear(each);
    co_return got;
}

async<listing> versioned_records::list(list_order what, instant until) {
    const auto self = shared_from_this();
    auto asking = on_->list(std::move(what), until);
    auto got = co_await std::move(asking);
    if (got.has_value())
        for (const auto& [key, stands] : got->records) clock_.hear(stands.clock);
    co_return got;
}

result<clock_bounds> versioned_records::clock() const {
    const auto bounds = clock_.at(now());
    if (!bounds)
        return failure{errc::protocol,
                       place() + ": its answers carry no date, and leases end by its clock"};
    return *bounds;
}

const remembered* versioned_records::find(const std::string& key) const {
    if (clock_.age(now()) > stamp_age_max) return nullptr;
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
}

void versioned_records::remember(const change& wrote, version at, instant granted) {
    remembered what{{wrote.text, std::move(at), std::nullopt}, {}, granted};
    if (const auto record = parse_lease(wrote.text); record.has_value()) {
        what.holder = record->state.holder;
        what.until = record->state.until;
    }
    known_[wrote.name.key] = std::move(what);
    // Looked through only when the map has doubled, at the least.
    if (known_.size() < std::max(free_remembered_max, looked_through_at_)) return;
    const auto bounds = clock_.at(now());
    std::erase_if(known_, [&](const auto& each) {
        const auto& lease = each.second;
        return number(lease.holder) == 0 || (bounds && lease.until < bounds->low);
    });
    looked_through_at_ = 2 * known_.size();
}

void versioned_records::was_granted(const std::string& key) {
    if (const auto found = known_.find(key); found != known_.end()) found->second.granted = now();
}

instant::duration versioned_records::unchanged(const std::string& key, const version& at) {
    const auto found = observations_.find(key);
    if (found != observations_.end() && found->second.at == at) {
        found->second.looked = now();
        return now() - found->second.since;
    }
    // Of keys that are not looked at any more.
    if (observations_.size() >= std::max(sightings_max, sightings_kept_)) {
        std::erase_if(observations_, [&](const auto& each) {
            return now() - each.second.looked >= sighting_age_max;
        });
        sightings_kept_ = 2 * observations_.size();
    }
    observations_.insert_or_assign(key, observation{at, now(), now()});
    return instant::duration::zero();
}

std::chrono::nanoseconds versioned_records::jitter(std::chrono::nanoseconds most) {
    std::uniform_int_distribution<std::int64_t> any{0, std::max<std::int64_t>(most.count(), 0)};
    return std::chrono::nanoseconds{any(random_)};
}

failure versioned_records::unreadable(std::string_view what, const failure& why) const {
    return {why.code, place() + ": " + base::printable(what) + ": " + why.detail};
}

boost::asio::awaitable<void> versioned_records::back_off(int conflicts) {
    if (conflicts <= conflicts_at_once) co_return;
    const auto doubled =
        std::chrono::milliseconds{1 << std::min(conflicts - conflicts_at_once, 10)};
    co_await net::sleep_for(jitter(std::min<std::chrono::milliseconds>(doubled, back_off_max)));
}

boost::asio::awaitable<void> versioned_records::pause_for_the_server(int lost, instant until) {
    const auto doubled = lost_pause * (1 << std::min(lost - 1, 10));
    // The rest is for another attempt.
    const auto left = std::max<std::chrono::nanoseconds>((until - now()) / 2, lost_pause);
    const auto most = std::min<std::chrono::nanoseconds>({doubled, lost_pause_max, left});
    co_await net::sleep_for(most / 2 + jitter(most / 2));
}

std::optional<std::size_t> versioned_records::progress::attempt_of(std::string_view text) const {
    if (attempts == 0) return std::nullopt;
    const auto found = nonce_of(text);
    if (!found.starts_with(nonce + ".")) return std::nullopt;
    const auto attempt = base::parse_number<std::size_t>(found.substr(nonce.size() + 1));
    if (!attempt || *attempt >= static_cast<std::size_t>(attempts)) return std::nullopt;
    return attempt;
}

}  // namespace pawl::cas
