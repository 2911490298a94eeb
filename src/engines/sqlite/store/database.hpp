// The verbs of the store as calls that block: each is one transaction.
#pragma once

#include "engines/sqlite/store/followed_file.hpp"
#include "engines/sqlite/store/lease_table.hpp"
#include "engines/sqlite/store/sqlite_store.hpp"
#include "engines/sqlite/store/store_file.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pawl::sqlite {

// One who waits for a key to change.
struct watched_key {
    std::string key;
    fence_token seen{};
};

// The file with the store's statements.
struct store_session {
    store_session(std::shared_ptr<store_file> opened, std::string name_space_);
    ~store_session() { file->retire(std::move(writing)); }
    store_session(const store_session&) = delete;
    store_session& operator=(const store_session&) = delete;

    std::optional<failure> prepare_reading(const std::string& path, instant deadline);

    const std::shared_ptr<store_file> file;
    const std::string name_space;
    std::shared_ptr<lease_table> writing;
    lazy_reader reader;
    std::optional<lease_table> reading;  // if the reader is open
};

// Thread-safe. A deadline bounds the wait for other threads and processes; once a transaction has
// begun it is finished.
class database : private followed_file<store_session> {
public:
    static result<std::shared_ptr<database>> open(const std::string& path,
                                                  sqlite_settings settings);

    using followed_file::path;
    const store_settings& settings() const noexcept { return settings_.common; }
    synchronous durability() const noexcept { return settings_.durability; }

    result<acquire_result<grant>> acquire(const claim& wanted, instant deadline);
    result<bool> withdraw(const withdrawal& given_up, instant deadline);
    result<std::vector<renewal>> renew(std::span<const held_lease> leases, instant deadline);
    result<bool> release(const std::string& key, fence_token token, const release_options& how,
                         instant deadline);
    result<bool> force_release(const std::string& key, fence_token token, millis delay,
                               instant deadline);
    result<std::optional<record>> inspect(const std::string& key, instant deadline);
    result<std::vector<std::optional<record>>> inspect_many(std::span<const std::string> keys,
                                                            instant deadline);
    result<page> list(const std::string& prefix, const std::string& after, std::size_t limit,
                      instant deadline);
    result<fence_result> fence(const std::string& resource, fence_token token, fence_rule rule,
                               instant deadline);

    // Asks to be woken through the -wake file when the key changes; false if it has changed
    // already, and then no process is asked.
    result<bool> register_waiter(const watched_key& watched, const std::string& waiter,
                                 instant deadline);
    result<bool> remove_waiter(const std::string& key, const std::string& waiter, instant deadline);
    // Which of these have changed.
    result<std::vector<bool>> changed(std::span<const watched_key> watched, instant deadline);

private:
    enum class effect { nothing, written, wake_waiters };
    template <class T>
    struct outcome {
        T answer;
        effect left = effect::nothing;
    };

    database(std::string path, sqlite_settings settings);

    // Step: outcome<T>(lease_table&, const store_time&). It decides and writes within one
    // transaction, which is committed if it left something.
    template <class T, class Step>
    result<T> write(synchronous durability, instant deadline, Step step);
    // Step: T(lease_table&, const store_time&).
    template <class T, class Step>
    result<T> read(instant deadline, Step step);

    result<std::unique_ptr<store_session>> open_session(instant deadline) override;
    failure shared_by_machines() const;
    static outcome<bool> end(lease_table& table, const std::string& key,
                             const lease_table::ending& known, rules::end_effect did,
                             const rules::store_time& now);
    struct considered {
        rules::lease_record state;
        bool is_known = false;
    };
    // What a claim comes to, and the record it would leave if it is granted.
    acquire_result<grant> judge(lease_table& table, const claim& wanted,
                                const rules::store_time& now, considered& of) const;

    // Constant after construction
    const std::string wake_path_;
    const sqlite_settings settings_;

    std::uint32_t grants_ = 0;  // under the turn of a writer
};

}  // namespace pawl::sqlite
