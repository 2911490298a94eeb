// The exit statuses of pawl, after sysexits.h. Part of the contract with users.
#pragma once

#include <pawl/errors.hpp>

#include <stdexcept>
#include <string>

namespace pawl::cli {

enum class status : int {
    done = 0,
    usage = 64,          // the command line is wrong
    unavailable = 69,    // the store cannot be reached
    lost = 70,           // the lease was lost and the command stopped
    io_error = 74,       // the store, or a file, refused to write
    busy = 75,           // another client holds the key
    already_done = 76,   // this occurrence has already run
    rejected = 77,       // a stale token, or not authorised
    configuration = 78,  // the configuration or the server behind it is wrong
    timed_out = 124      // the command had its time; as timeout(1) says it
};

// What ends a command early: one line for stderr and a status.
class exit_error : public std::runtime_error {
public:
    exit_error(status code, const std::string& line) : std::runtime_error{line}, code_{code} {}
    status code() const noexcept { return code_; }

private:
    status code_;
};

constexpr status status_of(errc code) noexcept {
    switch (code) {
        case errc::unreachable:
        case errc::outcome_unknown:
        case errc::closed:
            return status::unavailable;
        case errc::denied:
            return status::rejected;
        case errc::rejected:
            return status::io_error;
        case errc::protocol:
        case errc::unsupported:
            return status::configuration;
    }
    return status::unavailable;
}

// A store that is there and cannot write for now is no store out of reach.
inline status status_of(const store_error& error) noexcept {
    if (error.code() == errc::unreachable && !error.is_outage()) return status::io_error;
    return status_of(error.code());
}

}  // namespace pawl::cli
