// wants: deleted
// The text is the lease's, which is released at the end of the declaration.
std::size_t wrong(pawl::locks& locks, const pawl::lease_options& options) {
    const std::string& key = locks.try_acquire("invoices", options).value().key();
    return key.size();
}
