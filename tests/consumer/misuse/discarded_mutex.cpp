// wants: nodiscard
void wrong(pawl::locks& locks) { pawl::mutex{locks, "k", {.ttl = std::chrono::seconds{30}}}; }
