// wants: nodiscard
void wrong(pawl::locks& locks, const pawl::lease_options& options) {
    locks.acquire("k", options, std::chrono::minutes{1});
}
