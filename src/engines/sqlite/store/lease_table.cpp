#include "engines/sqlite/store/lease_table.hpp"

#include "add_lease_sql.hpp"
#include "end_lease_sql.hpp"
#include "find_fence_sql.hpp"
#include "find_floor_sql.hpp"
#include "find_held_sql.hpp"
#include "find_lease_sql.hpp"
#include "find_term_sql.hpp"
#include "list_leases_sql.hpp"
#include "purge_lease_sql.hpp"
#include "purge_waiters_sql.hpp"
#include "put_fence_sql.hpp"
#include "put_lease_sql.hpp"
#include "put_term_sql.hpp"
#include "put_waiter_sql.hpp"
#include "raise_floor_sql.hpp"
#include "remove_waiter_sql.hpp"
#include "sweep_leases_sql.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::sqlite {
namespace {

constexpr std::int64_t records_per_sweep = 128;

std::int64_t signed_number(fence_token token) { return static_cast<std::int64_t>(number(token)); }
fence_token token_of(std::int64_t value) { return fence_token{static_cast<std::uint64_t>(value)}; }

// How far the wall clocks of two machines may be apart.
constexpr rules::micros clocks_apart = std::chrono::minutes{1};

std::optional<std::int64_t> done_of(const rules::lease_record& state) {
    if (!state.last_done) return std::nullopt;
    return number(*state.last_done);
}

rules::micros on_the_wall(rules::micros until, const rules::store_time& now) {
    return now.wall + (until - now.elapsed);
}

}  // namespace

lease_table::lease_table(connection& on, std::string name_space, const store_file& file)
    : on_{on},
      name_space_{std::move(name_space)},
      file_{file},
      boot_{file.boot},
      begin_{on, "BEGIN IMMEDIATE"},
      commit_{on, "COMMIT"},
      roll_back_{on, "ROLLBACK"},
      find_lease_{on, embedded::find_lease_sql},
      add_lease_{on, embedded::add_lease_sql},
      put_lease_{on, embedded::put_lease_sql},
      find_held_{on, embedded::find_held_sql},
      end_lease_{on, embedded::end_lease_sql},
      find_term_{on, embedded::find_term_sql},
      put_term_{on, embedded::put_term_sql},
      list_leases_{on, embedded::list_leases_sql},
      sweep_leases_{on, embedded::sweep_leases_sql},
      purge_lease_{on, embedded::purge_lease_sql},
      raise_floor_{on, embedded::raise_floor_sql},
      find_floor_{on, embedded::find_floor_sql},
      find_fence_{on, embedded::find_fence_sql},
      put_fence_{on, embedded::put_fence_sql},
      put_waiter_{on, embedded::put_waiter_sql},
      remove_waiter_{on, embedded::remove_waiter_sql},
      purge_waiters_{on, embedded::purge_waiters_sql} {}

// A row of another boot is over, as no holder of it can be alive; only a cooldown continues,
// for what is left by the wall clock. But the boot has to be an earlier one: a boot
// that came to this file later than ours, or that acquired a live lease after ours had begun, is
// another machine's, and its holder may well be alive.
void lease_table::outlive_boot(rules::lease_record& state, const origin& of,
                               const rules::store_time& now) {
    if (of.boot == boot_) return;
    const auto began = now.wall - now.elapsed;
    const bool may_be_live = of.until_wall + clocks_apart > now.wall;
    if (of.boot > boot_ || (of.acquired_wall > began && may_be_live)) saw_another_machine_ = true;
    const auto left = of.until_wall - now.wall;
    const bool in_cooldown = number(state.holder) == 0 && left.count() > 0;
    state.until = in_cooldown ? now.elapsed + std::min<rules::micros>(left, ttl_max) : now.elapsed;
    state.acquired = now.elapsed;
    state.holder = fence_token{};
    state.claim_id.clear();
}

// The columns of a record from `first` on, in the order of find_lease.sql.
rules::lease_record lease_table::state_from(const statement& row, int first,
                                            const rules::store_time& now) {
    rules::lease_record state;
    state.holder = token_of(row.integer(first));
    state.claim_id = row.text(first + 1);
    state.owner = row.text(first + 2);
    state.acquired = rules::micros{row.integer(first + 4)};
    state.acquired_wall = rules::micros{row.integer(first + 5)};
    state.until = rules::micros{row.integer(first + 6)};
    state.last_token = token_of(row.integer(first + 8));
    if (const auto done = row.optional_integer(first + 9)) state.last_done = occurrence{*done};
    outlive_boot(
        state, {row.integer(first + 3), state.acquired_wall, rules::micros{row.integer(first + 7)}},
        now);
    return state;
}

int lease_table::begin() {
    begin_reading();
    return begin_.run() ? SQLITE_OK : begin_.code();
}

int lease_table::commit() { return commit_.run() ? SQLITE_OK : commit_.code(); }

// A failed COMMIT, or an error such as a full disk, may have rolled back already.
void lease_table::roll_back() {
    if (sqlite3_get_autocommit(on_.handle()) == 0) roll_back_.run();
}

void lease_table::note(const statement& of) {
    if (fault_ == SQLITE_OK && of.code() != SQLITE_ROW && of.code() != SQLITE_DONE)
        fault_ = of.code();
}

bool lease_table::row(statement& of) {
    const bool found = fault_ == SQLITE_OK && of.next();
    if (!found) note(of);
    return found;
}

void lease_table::run_noted(statement& of, bool worked) {
    if (!worked) note(of);
}

std::optional<rules::lease_record> lease_table::find(const std::string& key,
                                                     const rules::store_time& now) {
    std::optional<rules::lease_record> found;
    find_lease_.start(name_space_, key);
    if (row(find_lease_)) found = state_from(find_lease_, 0, now);
    find_lease_.reset();
    return found;
}

rules::lease_record lease_table::fresh() {
    rules::lease_record state;
    find_floor_.start(name_space_);
    if (row(find_floor_)) state.last_token = token_of(find_floor_.integer(0));
    find_floor_.reset();
    return state;
}

bool lease_table::write_lease(statement& how, const std::string& key,
                              const rules::lease_record& state, const rules::store_time& now) {
    return how.run(name_space_, key, signed_number(state.holder), state.claim_id, state.owner,
                   boot_, state.acquired.count(), state.acquired_wall.count(), state.until.count(),
                   on_the_wall(state.until, now).count(), signed_number(state.last_token),
                   done_of(state));
}

void lease_table::add(const std::string& key, const rules::lease_record& state,
                      const rules::store_time& now) {
    run_noted(add_lease_, write_lease(add_lease_, key, state, now));
}

void lease_table::put(const std::string& key, const rules::lease_record& state,
                      const rules::store_time& now) {
    run_noted(put_lease_, write_lease(put_lease_, key, state, now));
}

std::optional<lease_table::ending> lease_table::find_held(const std::string& key,
                                                          const rules::store_time& now) {
    std::optional<ending> found;
    find_held_.start(name_space_, key);
    if (row(find_held_)) {
        auto& state = found.emplace().state;
        state.holder = token_of(find_held_.integer(0));
        state.claim_id = find_held_.text(1);
        state.acquired = rules::micros{find_held_.integer(3)};
        state.until = rules::micros{find_held_.integer(4)};
        state.last_token = token_of(find_held_.integer(6));
        if (const auto done = find_held_.optional_integer(7)) state.last_done = occurrence{*done};
        outlive_boot(state,
                     {find_held_.integer(2), rules::micros{find_held_.integer(9)},
                      rules::micros{find_held_.integer(5)}},
                     now);
        found->has_waiters = find_held_.integer(8) != 0;
    }
    find_held_.reset();
    return found;
}

void lease_table::end(const std::string& key, const rules::lease_record& state,
                      const rules::store_time& now) {
    run_noted(end_lease_,
              end_lease_.run(name_space_, key, signed_number(state.holder), state.claim_id, boot_,
                             state.until.count(), on_the_wall(state.until, now).count(),
                             signed_number(state.last_token), done_of(state)));
}

bool lease_table::renew(const held_lease& lease, const rules::store_time& now) {
    find_term_.start(name_space_, lease.key);
    if (!row(find_term_) || find_term_.integer(1) != boot_) {
        find_term_.reset();
        return false;
    }
    rules::lease_record state;
    state.holder = token_of(find_term_.integer(0));
    state.acquired = rules::micros{find_term_.integer(2)};
    state.until = rules::micros{find_term_.integer(3)};
    find_term_.reset();
    const auto before = state.until;
    if (!rules::renew(state, lease, now)) return false;
    if (state.until != before)
        run_noted(put_term_, put_term_.run(name_space_, lease.key, state.until.count(),
                                           on_the_wall(state.until, now).count()));
    return true;
}

std::vector<record> lease_table::list(const std::string& first, std::size_t limit,
                                      const rules::store_time& now) {
    std::vector<record> found;
    list_leases_.start(name_space_, first, static_cast<std::int64_t>(limit), boot_,
                       now.elapsed.count());
    while (row(list_leases_)) {
        const auto state = state_from(list_leases_, 1, now);
        found.push_back(rules::describe(list_leases_.text(0), state, now));
        found.back().waiters = static_cast<std::uint32_t>(list_leases_.integer(11));
    }
    list_leases_.reset();
    return found;
}

void lease_table::sweep(millis retention, const rules::store_time& now) {
    struct expired {
        std::string key;
        fence_token token;
    };
    std::vector<expired> old;
    std::string last;
    sweep_leases_.start(name_space_, sweep_from_, records_per_sweep);
    while (row(sweep_leases_)) {
        last = sweep_leases_.text(0);
        const bool live =
            sweep_leases_.integer(1) == boot_ && sweep_leases_.integer(2) > now.elapsed.count();
        const rules::micros ended{sweep_leases_.integer(3)};
        if (!live && ended + retention < now.wall)
            old.push_back({last, token_of(sweep_leases_.integer(4))});
    }
    sweep_leases_.reset();
    sweep_from_ = last;
    fence_token highest{};
    for (const auto& each : old) {
        highest = std::max(highest, each.token);
        run_noted(purge_lease_, purge_lease_.run(name_space_, each.key));
    }
    if (!old.empty())
        run_noted(raise_floor_, raise_floor_.run(name_space_, signed_number(highest)));
}

fence_token lease_table::newest(const std::string& resource) {
    fence_token found{};
    find_fence_.start(name_space_, resource);
    if (row(find_fence_)) found = token_of(find_fence_.integer(0));
    find_fence_.reset();
    return found;
}

void lease_table::put_newest(const std::string& resource, fence_token token) {
    run_noted(put_fence_, put_fence_.run(name_space_, resource, signed_number(token)));
}

void lease_table::put_waiter(const std::string& key, const std::string& waiter,
                             rules::micros until) {
    run_noted(put_waiter_, put_waiter_.run(name_space_, key, waiter, boot_, until.count()));
}

void lease_table::remove_waiter(const std::string& key, const std::string& waiter) {
    run_noted(remove_waiter_, remove_waiter_.run(name_space_, key, waiter));
}

void lease_table::purge_waiters(const rules::store_time& now) {
    run_noted(purge_waiters_, purge_waiters_.run(boot_, now.elapsed.count()));
}

}  // namespace pawl::sqlite
