// wants: nodiscard
void wrong(pawl::locks& locks, const pawl::lease_options& options) {
    locks.claim_key("k", options);
}
