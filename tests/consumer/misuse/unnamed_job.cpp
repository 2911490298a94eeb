// wants: deleted
// g++ 12 destroys the aggregate twice.
boost::asio::awaitable<void> wrong(pawl::locks& locks, pawl::lease_options options) {
    co_await locks.async_run(
        {.name = "nightly", .lease = options, .body = [](const pawl::run&) {}});
}
