// wants: deleted
// g++ 12 destroys the closure twice.
boost::asio::awaitable<void> wrong(pawl::locks& locks, pawl::lease_options options,
                                   std::string name, std::stop_token stop) {
    co_await locks.async_lead("leader", options, stop, [name](const pawl::term&) {});
}
