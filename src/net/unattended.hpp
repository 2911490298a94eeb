// A completion token for background coroutines: what they throw ends the process.
//
// Boost's `detached` swallows what such a coroutine throws: leases would not be renewed any more,
// and their holders never told. So it ends the process, whose leases then run out as they should.
#pragma once

#include <exception>

namespace pawl::net {

// A completion token for co_spawn.
struct unattended {
    void operator()(const std::exception_ptr& error) const noexcept {
        if (error) std::rethrow_exception(error);
    }
};

}  // namespace pawl::net
