// wants: deleted
// The mutex and its lease end with the expression.
const pawl::lease& wrong(pawl::locks& locks, const pawl::lease_options& options) {
    return pawl::mutex{locks, "invoices", options}.lease();
}
