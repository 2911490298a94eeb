// The rows of one namespace as the rules see them, through one connection.
#pragma once

#include <pawl/spi/rules.hpp>
#include "engines/sqlite/client/connection.hpp"
#include "engines/sqlite/store/store_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::sqlite {

// Used by one thread at a time. The first error since begin() sticks: it turns the answers that
// follow into nothing, so the caller that decides on them must look at fault() before it commits.
class lease_table {
public:
    // `file` is the one that the connection has open.
    lease_table(connection& on, std::string name_space, const store_file& file);

    connection& by() noexcept { return on_; }
    const store_file& file() const noexcept { return file_; }

    // Each returns SQLite's code.
    int begin();
    int commit();
    void roll_back();
    // For a read outside a transaction.
    void begin_reading() {
        fault_ = SQLITE_OK;
        saw_another_machine_ = false;
    }
    int fault() const noexcept { return fault_; }
    // A row since begin() was written by another machine: the clocks of two machines, by which
    // leases end, have nothing to do with each other.
    bool saw_another_machine() const noexcept { return saw_another_machine_; }

    std::optional<rules::lease_record> find(const std::string& key, const rules::store_time& now);
    // What a key that has no record starts from.
    rules::lease_record fresh();
    // Writes a record that find() did not find, and one that it did.
    void add(const std::string& key, const rules::lease_record& state,
             const rules::store_time& now);
    void put(const std::string& key, const rules::lease_record& state,
             const rules::store_time& now);
    // The same for a lease that is to end, without its owner, whose texts and times stay.
    struct ending {
        rules::lease_record state;
        bool has_waiters = false;
    };
    std::optional<ending> find_held(const std::string& key, const rules::store_time& now);
    void end(const std::string& key, const rules::lease_record& state,
             const rules::store_time& now);
    // The renewal of one lease, without its record's texts; whether it was renewed.
    bool renew(const held_lease& lease, const rules::store_time& now);

    // Records from `first` on, at most `limit`.
    std::vector<record> list(const std::string& first, std::size_t limit,
                             const rules::store_time& now);
    // Looks at a bounded number of records, and deletes those past their retention.
    void sweep(millis retention, const rules::store_time& now);

    fence_token newest(const std::string& resource);
    void put_newest(const std::string& resource, fence_token token);

    void put_waiter(const std::string& key, const std::string& waiter, rules::micros until);
    void remove_waiter(const std::string& key, const std::string& waiter);
    void purge_waiters(const rules::store_time& now);

private:
    struct origin {
        std::int64_t boot = 0;
        rules::micros acquired_wall{};
        rules::micros until_wall{};
    };
    void outlive_boot(rules::lease_record& state, const origin& of, const rules::store_time& now);
    rules::lease_record state_from(const statement& row, int first, const rules::store_time& now);
    bool row(statement& of);
    bool write_lease(statement& how, const std::string& key, const rules::lease_record& state,
                     const rules::store_time& now);
    void note(const statement& of);
    void run_noted(statement& of, bool worked);

    connection& on_;
    const std::string name_space_;
    const store_file& file_;
    const std::int64_t boot_;
    int fault_ = SQLITE_OK;
    bool saw_another_machine_ = false;
    std::string sweep_from_;

    statement begin_, commit_, roll_back_;
    statement find_lease_, add_lease_, put_lease_, find_held_, end_lease_, find_term_, put_term_,
        list_leases_;
    statement sweep_leases_, purge_lease_, raise_floor_, find_floor_;
    statement find_fence_, put_fence_;
    statement put_waiter_, remove_waiter_, purge_waiters_;
};

}  // namespace pawl::sqlite
