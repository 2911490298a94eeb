#include "test_support/media/memory_medium.hpp"

#include "net/event.hpp"
#include "net/timer.hpp"
#include "time/clocks.hpp"

namespace pawl::testing_media {
namespace {

using cas::change;
using cas::conflict;
using cas::listing;
using cas::record_kind;
using cas::record_name;
using cas::seen;
using cas::stamp;
using cas::version;
using cas::write_answer;
using cas::written;

version version_of(std::uint64_t rev) { return rev == 0 ? version{} : std::to_string(rev); }

record_table::kind_and_key place_of(const record_name& name) { return {name.kind, name.key}; }

}  // namespace

record_table::record_table() : clock{[] { return time::wall_now().time_since_epoch(); }} {
    traits.clock_step = micros{1};
}

seen record_table::read(const record_name& name) {
    const std::lock_guard lock{mutex_};
    seen stands;
    const auto found = rows_.find(place_of(name));
    if (found == rows_.end()) return stands;
    stands.text = found->second.text;
    stands.at = version_of(found->second.rev);
    return stands;
}

void record_table::change_row(const kind_and_key& name, const std::string* text) {
    if (text == nullptr)
        rows_.erase(name);
    else
        rows_[name] = {*text, ++revs_};
    const auto [first, last] = waiters_.equal_range(name);
    for (auto each = first; each != last; ++each) each->second();
}

bool record_table::write(const change& what, version* now) {
    const std::lock_guard lock{mutex_};
    const auto name = place_of(what.name);
    const auto found = rows_.find(name);
    const auto stands = version_of(found == rows_.end() ? 0 : found->second.rev);
    if (how == honesty::keeps_conditions && stands != what.expected) return false;
    change_row(name, &what.text);
    if (now != nullptr) *now = version_of(revs_);
    return true;
}

bool record_table::erase(const record_name& name, const version& expected) {
    const std::lock_guard lock{mutex_};
    const auto found = rows_.find(place_of(name));
    const auto stands = version_of(found == rows_.end() ? 0 : found->second.rev);
    if (how == honesty::keeps_conditions && (stands != expected || stands.empty())) return false;
    change_row(place_of(name), nullptr);
    return true;
}

listing record_table::list(record_kind kind, const std::string& prefix, const std::string& after,
                           std::size_t limit) {
    const std::lock_guard lock{mutex_};
    listing found;
    auto place =
        after < prefix ? rows_.lower_bound({kind, prefix}) : rows_.upper_bound({kind, after});
    for (; place != rows_.end() && place->first.first == kind &&
           place->first.second.starts_with(prefix);
         ++place) {
        if (found.records.size() == limit) {
            found.more = true;
            break;
        }
        seen stands;
        stands.text = place->second.text;
        stands.at = version_of(place->second.rev);
        found.records.emplace_back(place->first.second, std::move(stands));
    }
    return found;
}

void record_table::put(const record_name& name, std::string text) {
    const std::lock_guard lock{mutex_};
    change_row(place_of(name), &text);
}

void record_table::clear() {
    const std::lock_guard lock{mutex_};
    rows_.clear();
}

void record_table::keep_late(change what) {
    const std::lock_guard lock{mutex_};
    late_.push_back(std::move(what));
}

std::size_t record_table::deliver() {
    std::vector<change> all;
    {
        const std::lock_guard lock{mutex_};
        all.swap(late_);
    }
    for (const auto& each : all) write(each, nullptr);
    return all.size();
}

void record_table::block(const std::string& key, bool blocked) {
    const std::lock_guard lock{mutex_};
    if (blocked)
        blocked_.insert(key);
    else
        blocked_.erase(key);
}

bool record_table::is_blocked(const record_name& name) const {
    const std::lock_guard lock{mutex_};
    return name.kind == record_kind::lease && blocked_.count(name.key) == 1;
}

record_table::requests record_table::count() const {
    const std::lock_guard lock{mutex_};
    return count_;
}

void record_table::counted(int requests::* which) {
    const std::lock_guard lock{mutex_};
    ++(count_.*which);
}

// Removes its waiter when it goes.
class record_table::waiting {
public:
    waiting(std::shared_ptr<record_table> from,
            std::multimap<kind_and_key, std::function<void()>>::iterator place)
        : from_{std::move(from)}, place_{place} {}
    ~waiting() {
        const std::lock_guard lock{from_->mutex_};
        from_->waiters_.erase(place_);
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;

private:
    std::shared_ptr<record_table> from_;
    std::multimap<kind_and_key, std::function<void()>>::iterator place_;
};

// Null when it has another version already.
std::unique_ptr<record_table::waiting> record_table::wait(const std::shared_ptr<record_table>& self,
                                                          const record_name& name,
                                                          const version& known,
                                                          std::function<void()> ring) {
    const std::lock_guard lock{mutex_};
    const auto found = rows_.find(place_of(name));
    if (version_of(found == rows_.end() ? 0 : found->second.rev) != known) return nullptr;
    return std::make_unique<waiting>(self, waiters_.emplace(place_of(name), std::move(ring)));
}

namespace {

class memory_medium : public cas::medium {
public:
    memory_medium(net::loop& where, std::shared_ptr<record_table> on)
        : where_{where}, attachment_{net::attach(where.get_executor())}, on_{std::move(on)} {}

    cas::medium_traits traits() const noexcept override { return on_->traits; }
    std::string place() const override { return "memory"; }
    async<std::string> prepare(instant) override {
        on_->counted(&record_table::requests::prepared);
        co_return on_->identity;
    }

    async<seen> read(record_name name, instant until) override {
        on_->counted(&record_table::requests::reads);
        const auto what = fate_of(false, name);
        const auto asked = where_.now();
        auto passing = pass(until);
        co_await std::move(passing);
        if (what != fate::answered) co_return failure{errc::unreachable, "memory: no answer"};
        auto stands = on_->read(name);
        stands.clock = stamped(asked);
        co_return stands;
    }

    async<write_answer> write(change what, instant until) override {
        on_->counted(&record_table::requests::writes);
        auto writing = write_one(std::move(what), until);
        co_return co_await std::move(writing);
    }

    async<std::vector<result<write_answer>>> write_many(std::span<const change> changes,
                                                        instant until) override {
        if (on_->traits.batch_max == 1) {
            auto writing = medium::write_many(changes, until);
            co_return co_await std::move(writing);
        }
        on_->counted(&record_table::requests::batches);
        std::vector<result<write_answer>> answers;
        for (const auto& each : changes) {
            auto writing = write_one(each, until);
            answers.push_back(co_await std::move(writing));
        }
        co_return answers;
    }

    async<write_answer> erase(record_name name, version expected, instant until) override {
        const auto what = fate_of(true, name);
        const auto asked = where_.now();
        auto passing = pass(until);
        co_await std::move(passing);
        if (what == fate::request_lost) co_return failure{errc::unreachable, "memory: not sent"};
        if (what == fate::late || what == fate::unanswered) co_return unknown();
        const bool done = on_->erase(name, expected);
        if (what == fate::answer_lost) co_return unknown();
        if (done) co_return written{{}, stamped(asked)};
        co_return conflict{std::nullopt, stamped(asked)};
    }

    async<listing> list(cas::list_order what, instant until) override {
        on_->counted(&record_table::requests::lists);
        const auto asked = where_.now();
        if (what.kind == record_kind::journal) {
            const auto chosen = fate_of(false, {what.kind, what.prefix});
            auto passing = pass(until);
            co_await std::move(passing);
            if (chosen != fate::answered) co_return failure{errc::unreachable, "memory: no answer"};
        }
        auto found = on_->list(what.kind, what.prefix, what.after, what.limit);
        for (auto& [key, stands] : found.records) stands.clock = stamped(asked);
        co_return found;
    }

    async<void> watch(record_name name, version known) override {
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none)
            co_return result<void>{};
        const auto changed = std::make_shared<net::event>();
        const std::weak_ptr<net::event> waited_for = changed;
        const auto waiting = on_->wait(on_, name, known, [home = attachment_, waited_for] {
            home->post([waited_for] {
                if (const auto still = waited_for.lock()) still->set();
            });
        });
        if (waiting) {
            auto ringing = changed->wait();
            co_await std::move(ringing);
        }
        co_return result<void>{};
    }

    async<examination> examine(instant) override {
        examination found;
        found.version = "memory";
        co_return found;
    }

private:
    static failure unknown() { return {errc::outcome_unknown, "memory: no answer"}; }

    fate fate_of(bool writes, const record_name& name) const {
        if (on_->is_blocked(name)) return writes ? fate::unanswered : fate::request_lost;
        return on_->fates ? on_->fates(writes, name) : fate::answered;
    }

    std::optional<stamp> stamped(instant asked) const {
        if (!on_->carries_stamps) return std::nullopt;
        const auto step = on_->traits.clock_step;
        const auto now = on_->clock();
        return stamp{now - ((now % step) + step) % step, asked, where_.now()};
    }

    boost::asio::awaitable<void> pass(instant until) const {
        if (!on_->delay) co_return;
        const auto left = std::max(until - where_.now(), instant::duration::zero());
        auto passing = net::sleep_for(std::min<std::chrono::nanoseconds>(on_->delay(), left));
        co_await std::move(passing);
    }

    async<write_answer> write_one(change what, instant until) {
        const auto chosen = fate_of(true, what.name);
        const auto asked = where_.now();
        auto passing = pass(until);
        co_await std::move(passing);
        if (chosen == fate::request_lost) co_return failure{errc::unreachable, "memory: not sent"};
        if (chosen == fate::unanswered) co_return unknown();
        if (chosen == fate::late) {
            on_->keep_late(std::move(what));
            co_return unknown();
        }
        if (on_->how == honesty::looks_before) {
            const bool same = on_->read(what.name).at == what.expected;
            auto pausing = net::sleep_for(std::chrono::milliseconds{1});
            co_await std::move(pausing);
            if (!same) co_return conflict{std::nullopt, stamped(asked)};
        }
        version now;
        const bool done = on_->write(what, &now);
        if (chosen == fate::answer_lost) co_return unknown();
        const bool is_stamped = on_->stamps_writes == write_stamps::all ||
                                (on_->stamps_writes == write_stamps::where_asked && what.asks_time);
        const auto clock = is_stamped ? stamped(asked) : std::nullopt;
        if (done) co_return written{std::move(now), clock};
        co_return conflict{std::nullopt, clock};
    }

    net::loop& where_;
    const std::shared_ptr<net::attachment> attachment_;  // rung by media on other loops
    const std::shared_ptr<record_table> on_;
};

}  // namespace

std::shared_ptr<record_table> table_named(const std::string& name,
                                          const cas::medium_traits& traits) {
    static std::mutex registry_mutex;
    static std::map<std::string, std::shared_ptr<record_table>> registry;
    const std::lock_guard lock{registry_mutex};
    auto& found = registry[name];
    if (!found) {
        found = std::make_shared<record_table>();
        found->traits = traits;
    }
    return found;
}

std::shared_ptr<cas::medium> make_memory_medium(net::loop& where,
                                                std::shared_ptr<record_table> on) {
    return std::make_shared<memory_medium>(where, std::move(on));
}

}  // namespace pawl::testing_media
