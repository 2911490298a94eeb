// What can go wrong with a store, and what the caller can do about it.
//
// Contention is no error: busy, already done and lost are values. An error means that the store
// failed, or refused. `errc` says what the caller can do; `detail` says what the server said.
#pragma once

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace pawl {

enum class errc {
    unreachable,      // the request never took effect: retry freely
    outcome_unknown,  // it may have taken effect: retry with the same claim id, or withdraw it
    denied,           // wrong credentials or a missing privilege: somebody must change them
    rejected,         // the store understood and refused: read-only, full disk, out of memory
    protocol,         // the peer does not speak the store's protocol: wrong server on the port
    unsupported       // the store cannot do this at all: too old, missing feature, newer schema
};

// One word for logs and JSON, such as "outcome_unknown".
std::string_view name_of(errc code) noexcept;

struct failure {
    errc code;
    std::string detail;  // one line, no secret in it
    // With `outcome_unknown`: the store is there and answered, only too few of its copies had what
    // was written. What is done while a store is out of reach is not done then.
    bool answered = false;
};

// Whether asking again may help without anybody changing anything.
bool may_pass(errc code) noexcept;

// Whether the store could not be reached, as far as the caller can tell.
bool is_outage(const failure& why) noexcept;

// The only exception that the public facade throws for a store's failure.
class store_error : public std::runtime_error {
public:
    explicit store_error(failure what);
    errc code() const noexcept { return code_; }
    bool is_outage() const noexcept { return is_outage_; }

private:
    errc code_;
    bool is_outage_;
};

// The caller asked for something impossible; what() names the option, its value and what would do.
class option_error : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

// Found by boost::system::result: result<T>::value() throws store_error.
[[noreturn]] void throw_exception_from_error(const failure& what, const boost::source_location&);

template <class T>
using result = boost::system::result<T, failure>;

}  // namespace pawl
