// wants: deleted
// Released before work() begins.
void work();
void wrong(pawl::locks& locks, const pawl::lease_options& options) {
    if (locks.try_acquire("k", options)) work();
}
