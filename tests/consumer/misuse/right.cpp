// What a program should write: it compiles, or what the programs beside this one prove is worth
// nothing.
using namespace std::chrono_literals;
using boost::asio::awaitable;

void work();

void right(pawl::locks& locks, const pawl::lease_options& options) {
    if (auto lease = locks.try_acquire("k", options)) work();
    if (const auto lease = locks.acquire("k", options, 1s); lease && lease->valid()) work();
    while (auto lease = locks.try_acquire("k", options)) work();
    std::optional<pawl::lease> kept = locks.try_acquire("k", options);
    if (kept) kept->release();
    const auto token = locks.try_acquire("k", options).value().token();
    if (!locks.check_fence("resource", token).accepted) return;
    if (const auto both = locks.acquire_all({"a", "b"}, options))
        for (const auto& one : both->leases())
            if (one.key() != one.owner()) work();
    auto shared = kept->share();
    if (!shared.renew()) return;
    shared.release();
}

awaitable<void> right(pawl::locks& locks, std::string name, std::stop_token stop) {
    if (auto lease = co_await locks.async_try_acquire("k", {.ttl = 30s})) work();
    auto lease = co_await locks.async_acquire("tenant/" + name, {.ttl = 30s}, 1min);
    co_await lease->async_release();
    int terms = 0;
    co_await locks.async_lead("leader", {.ttl = 30s}, stop, [&](const pawl::term&) { ++terms; });
    const pawl::term_body body = [name](const pawl::term&) {};
    co_await locks.async_lead("leader", {.ttl = 30s}, stop, body);
    const pawl::job nightly{
        .name = name, .lease = {.ttl = 30s}, .body = [name](const pawl::run&) {}};
    co_await locks.async_run(nightly);
}
