// wants: nodiscard
void wrong(pawl::locks& locks, const pawl::lease_options& options) {
    locks.acquire_with_reason("k", options);
}
