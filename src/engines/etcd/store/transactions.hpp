// The transactions of etcd that the verbs are made of.
#pragma once

#include "engines/etcd/client/wire.pb.h"
#include "engines/etcd/store/lease_text.hpp"

#include <pawl/spi/lease_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::etcd {

// What is asked for in a transaction, piece by piece.
class transaction {
public:
    // Conditions, which all must hold. A key that does not exist has revision 0.
    transaction& if_created_at(std::string key, std::int64_t revision);
    transaction& if_changed_at(std::string key, std::int64_t revision);
    transaction& if_attached_to(std::string key, std::int64_t lease);
    transaction& if_below(std::string key, std::string value);  // never holds for a missing key
    transaction& if_equal(std::string key, std::string value);
    transaction& if_exists(std::string key);

    // What happens then.
    transaction& put(std::string key, std::string value, std::int64_t lease = 0);
    transaction& attach(std::string key, std::int64_t lease);  // the value stays
    transaction& remove(std::string key);
    transaction& nested(transaction inner);
    transaction& get(std::string key);
    transaction& get_range(std::string from, std::string end, std::size_t limit);
    // And what is read otherwise.
    transaction& otherwise_get(std::string key);
    transaction& otherwise(transaction inner);

    const wire::TxnRequest& request() const noexcept { return request_; }

private:
    wire::Compare& add_condition(std::string key, wire::Compare::CompareResult how,
                                 wire::Compare::CompareTarget what);

    wire::TxnRequest request_;
};

// What every grant rests on: the namespace's marker, and what records are attached to.
struct epoch {
    std::int64_t marker_revision = 0;
    marker_text marker;
    std::int64_t keep_lease = 0;
};

// What is known of the key's last occurrence before a claim of an occurrence asks.
enum class done_guess {
    exists,
    missing,
    own  // marked by this very claim, whose lease has expired since
};

constexpr std::int64_t any_record = -1;

struct grant_terms {
    fence_token token{};
    std::int64_t lease = 0;
    std::int64_t acquired = 0;
    // The revision of the record that the grant demands, 0 for none; or any with a lower token.
    std::int64_t record = any_record;
    done_guess guess = done_guess::exists;
};

// Rules 1, 2 and 6: grants unless the answer, which then shows the lock, the pause, the withdrawal,
// what is done, the record and the marker, in this order, says why not.
transaction acquire_transaction(const key_names& names, const claim& wanted, const epoch& in,
                                const grant_terms& terms);

struct ending {
    std::int64_t created = 0;  // the revision of the lock
    record_text record;
    std::int64_t pause_lease = 0;  // 0: the key is free at once
    std::optional<occurrence> done{};
};
// Rules 4 and 5.
transaction end_transaction(const key_names& names, const std::string& key, const epoch& in,
                            const ending& how);
// Raises what is done, whether or not anything is known of it; false if it was not below.
transaction raise_done(const key_names& names, const std::string& key, const epoch& in,
                       occurrence done);

}  // namespace pawl::etcd
