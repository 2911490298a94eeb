#include "engines/etcd/store/transactions.hpp"

#include <utility>

namespace pawl::etcd {

wire::Compare& transaction::add_condition(std::string key, wire::Compare::CompareResult how,
                                          wire::Compare::CompareTarget what) {
    auto& added = *request_.add_compare();
    added.set_key(std::move(key));
    added.set_result(how);
    added.set_target(what);
    return added;
}

transaction& transaction::if_created_at(std::string key, std::int64_t revision) {
    add_condition(std::move(key), wire::Compare::EQUAL, wire::Compare::CREATE)
        .set_create_revision(revision);
    return *this;
}

transaction& transaction::if_changed_at(std::string key, std::int64_t revision) {
    add_condition(std::move(key), wire::Compare::EQUAL, wire::Compare::MOD)
        .set_mod_revision(revision);
    return *this;
}

transaction& transaction::if_attached_to(std::string key, std::int64_t lease) {
    add_condition(std::move(key), wire::Compare::EQUAL, wire::Compare::LEASE).set_lease(lease);
    return *this;
}

transaction& transaction::if_below(std::string key, std::string value) {
    add_condition(std::move(key), wire::Compare::LESS, wire::Compare::VALUE)
        .set_value(std::move(value));
    return *this;
}

transaction& transaction::if_equal(std::string key, std::string value) {
    add_condition(std::move(key), wire::Compare::EQUAL, wire::Compare::VALUE)
        .set_value(std::move(value));
    return *this;
}

transaction& transaction::if_exists(std::string key) {
    add_condition(std::move(key), wire::Compare::GREATER, wire::Compare::CREATE)
        .set_create_revision(0);
    return *this;
}

transaction& transaction::put(std::string key, std::string value, std::int64_t lease) {
    auto& added = *request_.add_success()->mutable_request_put();
    added.set_key(std::move(key));
    added.set_value(std::move(value));
    added.set_lease(lease);
    return *this;
}

transaction& transaction::attach(std::string key, std::int64_t lease) {
    auto& added = *request_.add_success()->mutable_request_put();
    added.set_key(std::move(key));
    added.set_ignore_value(true);
    added.set_lease(lease);
    return *this;
}

transaction& transaction::remove(std::string key) {
    request_.add_success()->mutable_request_delete_range()->set_key(std::move(key));
    return *this;
}

transaction& transaction::nested(transaction inner) {
    *request_.add_success()->mutable_request_txn() = std::move(inner.request_);
    return *this;
}

transaction& transaction::get(std::string key) {
    request_.add_success()->mutable_request_range()->set_key(std::move(key));
    return *this;
}

transaction& transaction::get_range(std::string from, std::string end, std::size_t limit) {
    auto& added = *request_.add_success()->mutable_request_range();
    added.set_key(std::move(from));
    added.set_range_end(std::move(end));
    added.set_limit(static_cast<std::int64_t>(limit));
    return *this;
}

transaction& transaction::otherwise_get(std::string key) {
    request_.add_failure()->mutable_request_range()->set_key(std::move(key));
    return *this;
}

transaction& transaction::otherwise(transaction inner) {
    *request_.add_failure()->mutable_request_txn() = std::move(inner.request_);
    return *this;
}

transaction acquire_transaction(const key_names& names, const claim& wanted, const epoch& in,
                                const grant_terms& terms) {
    const auto lock = names.lock + wanted.key, pause = names.pause + wanted.key,
               done = names.done + wanted.key, record = names.record + wanted.key,
               id = encode_id(wanted.id), withdrawn = names.withdrawn + id;
    transaction all;
    all.if_changed_at(names.marker, in.marker_revision);
    if (terms.record == any_record)
        all.if_below(record, bound_of_records(terms.token));
    else
        all.if_changed_at(record, terms.record);
    all.if_created_at(lock, 0).if_created_at(pause, 0).if_created_at(withdrawn, 0);
    if (wanted.occurrence && terms.guess == done_guess::missing) all.if_created_at(done, 0);
    if (wanted.occurrence && terms.guess == done_guess::exists)
        all.if_below(done, encode_done(*wanted.occurrence));
    if (wanted.occurrence && terms.guess == done_guess::own)
        all.if_equal(done, encode_done(*wanted.occurrence));
    all.put(lock, encode(lock_text{id, terms.token, terms.acquired, wanted.owner}), terms.lease);
    all.put(record,
            encode(record_text{record_text::state::granted, terms.token, terms.acquired,
                               wanted.owner, id}),
            in.keep_lease);
    if (wanted.occurrence && wanted.delivery == delivery::at_most_once)
        all.put(done, encode_done(*wanted.occurrence), in.keep_lease);
    all.otherwise_get(lock).otherwise_get(pause).otherwise_get(withdrawn);
    all.otherwise_get(done).otherwise_get(record).otherwise_get(names.marker);
    return all;
}

transaction raise_done(const key_names& names, const std::string& key, const epoch& in,
                       occurrence done) {
    const auto name = names.done + key;
    const auto value = encode_done(done);
    transaction first, raise;
    raise.if_below(name, value).put(name, value, in.keep_lease);
    first.if_created_at(name, 0).put(name, value, in.keep_lease).otherwise(std::move(raise));
    return first;
}

transaction end_transaction(const key_names& names, const std::string& key, const epoch& in,
                            const ending& how) {
    transaction all;
    all.if_created_at(names.lock + key, how.created);
    all.remove(names.lock + key);
    all.put(names.record + key, encode(how.record), in.keep_lease);
    if (how.pause_lease != 0)
        all.put(names.pause + key, std::to_string(layout_version) + " until its lease ends",
                how.pause_lease);
    if (how.done) all.nested(raise_done(names, key, in, *how.done));
    return all;
}

}  // namespace pawl::etcd
