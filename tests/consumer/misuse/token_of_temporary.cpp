// wants: deleted
// The lease is released at the end of the expression, and the token is of the past.
#include <pawl/pawl.hpp>

auto wrong(pawl::locks& locks, const pawl::lease_options& options) {
    return locks.try_acquire("invoices", options)->token();
}
