// wants: deleted
void work();
void wrong(pawl::locks& locks, const pawl::lease_options& options) {
    if (!locks.acquire("k", options, std::chrono::seconds{1})) return;
    work();
}
