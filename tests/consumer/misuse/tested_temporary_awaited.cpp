// wants: deleted
void work();
boost::asio::awaitable<void> wrong(pawl::locks& locks, pawl::lease_options options) {
    if (co_await locks.async_try_acquire("k", options)) work();
}
