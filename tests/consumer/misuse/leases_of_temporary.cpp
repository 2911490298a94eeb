// wants: deleted
// The set is released before the first pass of the loop, and its leases are gone.
void wrong(pawl::locks& locks, const pawl::lease_options& options) {
    for (const auto& one : locks.acquire_all({"a", "b"}, options).value().leases())
        static_cast<void>(one.token());
}
