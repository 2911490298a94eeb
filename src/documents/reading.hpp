// What documents.hpp writes, read back: records out of the JSON of an agent's API.
//
// Members that are not known are left alone, so that a newer agent can be asked. What is missing,
// or of another type, is `protocol`, and the detail names it.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::documents {

// The members of one value, taken one by one; the first fault is remembered.
class member_reader {
public:
    // `what` names the value in faults, such as "a lock".
    // REQUIRES: `from` lives as long.
    member_reader(const boost::json::value& from, std::string_view what);
    member_reader(boost::json::value&& from, std::string_view what) = delete;

    std::string text(std::string_view name);
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
    std::uint64_t token(std::string_view name);
    bool flag(std::string_view name);
    std::int64_t time(std::string_view name);  // Unix milliseconds
    std::optional<std::int64_t> time_or_none(std::string_view name);
    std::optional<std::int64_t> integer_or_none(std::string_view name);
    // Null where it is missing or null: an answer of its own, not a fault.
    const boost::json::value* find(std::string_view name) const;
    const boost::json::array& list(std::string_view name);

    const std::optional<failure>& fault() const noexcept { return fault_; }

private:
    const boost::json::value* need(std::string_view name);
    void reject(std::string_view name, std::string_view right);

    const boost::json::object* members_ = nullptr;
    std::string what_;
    std::optional<failure> fault_;
};

// The token of a lock without a holder is its newest; `newest_token`, where it is given, is that
// of any.
result<record> lock_of(const boost::json::value& from);
result<run_record> run_of(const boost::json::value& from);
result<run_event> event_of(const boost::json::value& from);
// How long ago it was seen is worked out from `as_of`, in Unix milliseconds, and its state.
result<node_entry> node_of(const boost::json::value& from, std::int64_t as_of);
result<audit_entry> audit_of(const boost::json::value& from);
result<job_entry> job_of(const boost::json::value& from);
// Nothing when it is null.
result<std::optional<job_pause>> pause_of(const boost::json::value& from, const std::string& job);

}  // namespace pawl::documents
