#include "engines/sqlite/store/database.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace pawl::sqlite {
namespace {

// One grant in so many looks for records past their retention.
constexpr std::uint32_t grants_per_sweep = 64;
// How long a waiter that died is thought to be one. Waiters that live ask again.
constexpr auto waiter_lifetime = std::chrono::seconds{60};

// A deadline that has passed: a lock is tried once.
constexpr instant no_timeout{};

bool has_changed(const std::optional<rules::lease_record>& known, fence_token seen,
                 const rules::store_time& now) {
    return !known || !known->live(now) || known->holder != seen;
}

}  // namespace

store_session::store_session(std::shared_ptr<store_file> opened, std::string name_space_)
    : file{std::move(opened)},
      name_space{std::move(name_space_)},
      writing{std::make_shared<lease_table>(file->writer(), name_space, *file)} {}

std::optional<failure> store_session::prepare_reading(const std::string& path, instant deadline) {
    if (auto fault = reader.open(path, file->identity, deadline)) return fault;
    if (reader.is_open() && !reading) reading.emplace(reader.get(), name_space, *file);
    return std::nullopt;
}

database::database(std::string path, sqlite_settings settings)
    : followed_file{path, "the store " + path, settings.common.timeout},
      wake_path_{wake_path_of(path)},
      settings_{std::move(settings)} {}

result<std::shared_ptr<database>> database::open(const std::string& path,
                                                 sqlite_settings settings) {
    const auto deadline = lease_clock::now() + settings.common.timeout;
    std::shared_ptr<database> opened{new database{whole_path(path), std::move(settings)}};
    if (auto fault = opened->reopen(deadline)) return std::move(*fault);
    return opened;
}

result<std::unique_ptr<store_session>> database::open_session(instant deadline) {
    auto opened = open_store_file(path(), settings_.durability, deadline);
    if (opened.has_error()) return opened.error();
    return std::make_unique<store_session>(std::move(*opened), settings_.common.name_space);
}

failure database::shared_by_machines() const {
    return {errc::unsupported,
            "the store " + path() +
                " is used by another machine too, whose clock this one cannot compare with its "
                "own: use a local disk for each, or a store with a server"};
}

template <class T, class Step>
result<T> database::write(synchronous durability, instant deadline, Step step) {
    bool wake = false;
    // Nothing: another file has taken the path meanwhile.
    const auto transact = [&]() -> std::optional<result<T>> {
        auto turn = to_write(deadline);
        if (turn.has_error()) return turn.error();
        auto& table = *(*turn)->writing;
        auto& by = table.by();
        const auto chosen =
            settings_.durability == synchronous::full ? durability : settings_.durability;
        if (const int code = by.commit_with(chosen); code != SQLITE_OK) return by.rejected(code);
        if (const int code = table.begin(); code != SQLITE_OK) return by.rejected(code);
        if (by.has_waited() && !is_still_there()) {
            table.roll_back();
            return std::nullopt;
        }
        auto did = step(table, now_here());
        if (table.fault() != SQLITE_OK) {
            auto fault = by.rejected(table.fault());
            table.roll_back();
            return fault;
        }
        if (table.saw_another_machine()) {
            table.roll_back();
            return shared_by_machines();
        }
        if (did.left == effect::nothing) {
            table.roll_back();
            return std::move(did.answer);
        }
        if (const int code = table.commit(); code != SQLITE_OK) {
            auto fault = by.in_doubt(code);
            table.roll_back();
            return fault;
        }
        wake = did.left == effect::wake_waiters;
        return std::move(did.answer);
    };
    auto answer = transact();
    while (!answer) answer = transact();
    // To touch the file is to wake all who watch it; where there is none, no process watches.
    if (wake) ::utimensat(AT_FDCWD, wake_path_.c_str(), nullptr, 0);
    return std::move(*answer);
}

template <class T, class Step>
result<T> database::read(instant deadline, Step step) {
    auto turn = to_read(deadline);
    if (turn.has_error()) return turn.error();
    auto& table = *(*turn)->reading;
    table.by().wait_until(deadline);
    table.begin_reading();
    auto answer = step(table, now_here());
    if (table.fault() != SQLITE_OK) return table.by().rejected(table.fault());
    if (table.saw_another_machine()) return shared_by_machines();
    return answer;
}

acquire_result<grant> database::judge(lease_table& table, const claim& wanted,
                                      const rules::store_time& now, considered& of) const {
    const auto& common = settings_.common;
    if (auto rejected = rules::reject_in_quarantine(common.quarantine, table.file().born, wanted,
                                                    now, common.max_skew))
        return std::move(*rejected);
    auto known = table.find(wanted.key, now);
    of.is_known = known.has_value();
    of.state = known ? std::move(*known) : table.fresh();
    return rules::acquire(of.state, wanted, now, common.max_skew);
}

result<acquire_result<grant>> database::acquire(const claim& wanted, instant deadline) {
    if (auto rejected = rules::reject_long_ttl(settings_.common.quarantine, wanted.ttl))
        return std::move(*rejected);
    const auto step = [&](lease_table& table,
                          const rules::store_time& now) -> outcome<acquire_result<grant>> {
        considered won;
        auto answer = judge(table, wanted, now, won);
        if (!std::holds_alternative<grant>(answer)) return {std::move(answer)};
        if (won.is_known)
            table.put(wanted.key, won.state, now);
        else
            table.add(wanted.key, won.state, now);
        if (++grants_ % grants_per_sweep == 0) {
            table.sweep(settings_.common.retention, now);
            table.purge_waiters(now);
        }
        return {std::move(answer), effect::written};
    };
    // Where another writer is at work, a rejection can be read without waiting for it: many who
    // want a held key must not stand in line for the file's lock.
    auto hasty = write<acquire_result<grant>>(synchronous::full, no_timeout, step);
    if (hasty.has_value() || hasty.error().code != errc::unreachable) return hasty;
    const auto look = [&](lease_table& table, const rules::store_time& now) {
        considered unused;
        return judge(table, wanted, now, unused);
    };
    auto seen = read<acquire_result<grant>>(deadline, look);
    if (seen.has_value() && !std::holds_alternative<grant>(*seen)) return seen;
    return write<acquire_result<grant>>(synchronous::full, deadline, step);
}

database::outcome<bool> database::end(lease_table& table, const std::string& key,
                                      const lease_table::ending& known, rules::end_effect did,
                                      const rules::store_time& now) {
    if (!did.changed) return {did.was_holder};
    table.end(key, known.state, now);
    const bool wake = did.was_holder && known.has_waiters;
    return {did.was_holder, wake ? effect::wake_waiters : effect::written};
}

result<bool> database::withdraw(const withdrawal& given_up, instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time& now) -> outcome<bool> {
        auto known = table.find_held(given_up.key, now);
        if (!known) return {false};
        const auto did = rules::withdraw(known->state, given_up, now);
        return end(table, given_up.key, *known, did, now);
    };
    // A grant that marked its occurrence is on the disk, so what takes the mark away has to be.
    return write<bool>(given_up.occurrence ? synchronous::full : synchronous::normal, deadline,
                       step);
}

result<std::vector<renewal>> database::renew(std::span<const held_lease> leases, instant deadline) {
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings_.common.quarantine, lease.ttl))
            return std::move(*rejected);
    using answers = std::vector<renewal>;
    if (leases.empty()) return answers{};
    const auto step = [&](lease_table& table, const rules::store_time& now) {
        outcome<answers> did;
        did.answer.reserve(leases.size());
        for (const auto& lease : leases) {
            const bool renewed = table.renew(lease, now);
            did.answer.push_back(renewed ? renewal::renewed : renewal::lost);
            if (renewed) did.left = effect::written;
        }
        return did;
    };
    return write<answers>(synchronous::normal, deadline, step);
}

result<bool> database::release(const std::string& key, fence_token token,
                               const release_options& how, instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time& now) -> outcome<bool> {
        auto known = table.find_held(key, now);
        if (!known) return {false};
        const auto did = rules::release(known->state, token, how, now);
        return end(table, key, *known, did, now);
    };
    // A loss of power ends all leases by itself, so only what outlives them must be on the disk.
    const bool outlives = how.done || how.min_hold.count() > 0;
    return write<bool>(outlives ? synchronous::full : synchronous::normal, deadline, step);
}

result<bool> database::force_release(const std::string& key, fence_token token, millis delay,
                                     instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time& now) -> outcome<bool> {
        auto known = table.find_held(key, now);
        if (!known || !rules::force_release(known->state, token, delay, now)) return {false};
        table.end(key, known->state, now);
        return {true, known->has_waiters ? effect::wake_waiters : effect::written};
    };
    return write<bool>(synchronous::full, deadline, step);
}

result<std::optional<record>> database::inspect(const std::string& key, instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time& now) {
        std::optional<record> seen;
        auto found = table.list(key, 1, now);
        if (!found.empty() && found.front().key == key) seen = std::move(found.front());
        return seen;
    };
    return read<std::optional<record>>(deadline, step);
}

result<std::vector<std::optional<record>>> database::inspect_many(std::span<const std::string> keys,
                                                                  instant deadline) {
    using all_records = std::vector<std::optional<record>>;
    const auto step = [&](lease_table& table, const rules::store_time& now) {
        all_records all;
        for (const auto& key : keys) {
            const auto found = table.find(key, now);
            all.push_back(found ? std::optional{rules::describe(key, *found, now)} : std::nullopt);
        }
        return all;
    };
    return read<all_records>(deadline, step);
}

result<page> database::list(const std::string& prefix, const std::string& after, std::size_t limit,
                            instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time& now) {
        // Two more than asked for: `after` itself, and what tells whether there is a next page.
        page found;
        found.records = table.list(std::max(prefix, after), limit + 2, now);
        std::erase_if(found.records, [&](const record& each) {
            return each.key <= after || !each.key.starts_with(prefix);
        });
        if (found.records.size() > limit) {
            found.records.erase(found.records.begin() + static_cast<std::ptrdiff_t>(limit),
                                found.records.end());
            found.next = found.records.back().key;
        }
        return found;
    };
    return read<page>(deadline, step);
}

result<fence_result> database::fence(const std::string& resource, fence_token token,
                                     fence_rule rule, instant deadline) {
    const auto& common = settings_.common;
    const auto step = [&](lease_table& table,
                          const rules::store_time& now) -> outcome<fence_result> {
        auto newest = table.newest(resource);
        const auto before = newest;
        const auto issued = rules::issued_tokens(common.quarantine, table.file().born.wall,
                                                 now.wall, common.max_skew);
        const auto judged = rules::check_fence(newest, token, rule, issued);
        if (newest == before) return {judged};
        table.put_newest(resource, newest);
        return {judged, effect::written};
    };
    return write<fence_result>(synchronous::full, deadline, step);
}

result<bool> database::register_waiter(const watched_key& watched, const std::string& waiter,
                                       instant deadline) {
    // One transaction sees the key and leaves the note: a process that frees the key after it finds
    // the note, and one that freed it before is seen.
    const auto step = [&](lease_table& table, const rules::store_time& now) -> outcome<bool> {
        if (has_changed(table.find(watched.key, now), watched.seen, now)) return {false};
        table.put_waiter(watched.key, waiter, now.elapsed + waiter_lifetime);
        return {true, effect::written};
    };
    return write<bool>(synchronous::normal, deadline, step);
}

result<bool> database::remove_waiter(const std::string& key, const std::string& waiter,
                                     instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time&) -> outcome<bool> {
        table.remove_waiter(key, waiter);
        return {true, effect::written};
    };
    return write<bool>(synchronous::normal, deadline, step);
}

result<std::vector<bool>> database::changed(std::span<const watched_key> watched,
                                            instant deadline) {
    const auto step = [&](lease_table& table, const rules::store_time& now) {
        std::vector<bool> answers;
        answers.reserve(watched.size());
        for (const auto& each : watched)
            answers.push_back(has_changed(table.find(each.key, now), each.seen, now));
        return answers;
    };
    return read<std::vector<bool>>(deadline, step);
}

}  // namespace pawl::sqlite
