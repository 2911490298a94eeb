// wants: deleted
boost::asio::awaitable<void> wrong(pawl::locks& locks, std::string name, std::stop_token stop) {
    co_await locks.async_run_partitions("shards", 4, stop, [name](const pawl::partition&) {});
}
