// What can go wrong with a store, and what the caller can do about it.
//
// Contention is no error: busy, already done and lost are values. An error means that the store
// failed, or rejected the request. `errc` says what the caller can do; `detail` says what happened.
#pragma once

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace pawl {

// What the caller can do about a failure.
enum class errc {
    unreachable,      // the request never took effect: retry freely
    outcome_unknown,  // it may have taken effect: retry with the same claim id, or withdraw it
    denied,           // wrong credentials or a missing privilege: an administrator must change them
    rejected,     // the store will not do it, now or later: a record of another program, a bound
    protocol,     // the peer does not speak the store's protocol: wrong server on the port
    unsupported,  // the store cannot do this at all: too old, missing feature, newer schema
    closed        // the `locks` object was destroyed during the call; a claim is withdrawn
};

// One word for logs and JSON, such as "outcome_unknown".
[[nodiscard]] std::string_view name_of(errc code) noexcept;

// A store's failure as a value.
struct failure {
    // What the caller can do about it.
    errc code;

    // What happened. One line without a secret.
    std::string detail;

    // The store answered, but cannot write for now, as when it is full (`unreachable`), or too few
    // copies have what was written (`outcome_unknown`). No outage policy applies. Default: false.
    bool answered = false;
};

// Whether asking again may help although no person changes anything: `unreachable` and
// `outcome_unknown`.
[[nodiscard]] bool may_pass(errc code) noexcept;

// Whether the store could not be reached, as far as the caller can tell.
[[nodiscard]] bool is_outage(const failure& why) noexcept;

// The only exception that calls of this library throw for a store's failure. what() is
// failure::detail.
class store_error : public std::runtime_error {
public:
    // Made by this library; by others for tests.
    explicit store_error(failure what);

    // What the caller can do about it.
    errc code() const noexcept { return code_; }

    // Whether the store could not be reached, as far as the caller can tell.
    [[nodiscard]] bool is_outage() const noexcept { return is_outage_; }

private:
    errc code_;
    bool is_outage_;
};

// The caller asked for something impossible: a malformed URL, a key or options out of their bounds.
// what() is one line that names the option, its value and what would do. The store was not asked.
class option_error : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

// Found by boost::system::result: result<T>::value() throws store_error.
[[noreturn]] void throw_exception_from_error(const failure& what, const boost::source_location&);

// A value, or why there is none.
template <class T>
using result = boost::system::result<T, failure>;

}  // namespace pawl
