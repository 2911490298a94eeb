// Ends that a program may come to, on the store that it is given: a scope, its `locks`, a fork().
// Ends with 0 if each had the answer that the documentation promises.
#include "waiting.hpp"

#include <pawl/pawl.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr pawl::lease_options a_minute{.ttl = 60s};

int failed = 0;
void check(bool right, const char* what) {
    if (right) return;
    std::cerr << "endings: " << what << '\n';
    ++failed;
}

void scope_after_scope(pawl::locks& locks) {
    int busy = 0;
    for (int i = 0; i < 200; ++i)
        if (auto lease = locks.try_acquire("scope", a_minute); !lease) ++busy;
    check(busy == 0, "a key was busy because of a release of the same process");
}

void shared_handles(pawl::locks& locks) {
    auto first = locks.try_acquire("shared", a_minute);
    auto second = first->share();
    check(first->release() == pawl::release_outcome::still_shared, "one of two handles released");
    check(second.release() == pawl::release_outcome::released, "the last handle did not release");
}

void end_of_locks(const std::string& url) {
    auto locks = std::make_unique<pawl::locks>(pawl::locks::open(url));
    auto other = pawl::locks::open(url);
    auto blocking = other.try_acquire("blocked", a_minute);
    std::optional<pawl::errc> ended;
    std::thread waiter{[&, &where = *locks] {
        try {
            const auto lease = where.acquire("blocked", a_minute, 1h);
        } catch (const pawl::store_error& error) {
            ended = error.code();
        }
    }};
    auto lease = locks->try_acquire("outlives", a_minute);
    const auto told = lease->stop_token();
    check(comes_to_wait(*locks, "blocked"), "a blocking acquire does not wait");
    locks.reset();
    waiter.join();
    check(ended == pawl::errc::closed, "a blocked acquire did not end with errc::closed");
    check(told.stop_requested() && !lease->valid(), "a lease that outlives its locks is trusted");
    check(lease->lost() == pawl::loss_reason::closed, "it does not say why it is lost");
}

boost::asio::awaitable<bool> acquire(pawl::locks& from, std::string key) {
    auto lease = co_await from.async_try_acquire(key, a_minute);
    co_return lease && lease->valid();
}

void in_own_locks(const std::string& url, const std::string& key, bool is_parents) {
    auto own = pawl::locks::open(url);
    const auto rejected = own.try_acquire("parent", a_minute);
    check(!is_parents || !rejected, "a child got the key that its parent holds");
    const auto granted = own.try_acquire(key, a_minute);
    check(granted && granted->valid(), "a child's own locks do not work");
    boost::asio::io_context context;
    auto awaited =
        boost::asio::co_spawn(context, acquire(own, key + "-awaited"), boost::asio::use_future);
    context.run();
    check(awaited.get(), "a child's own locks do not work where they are awaited");
}

// What a child is told of a store whose client keeps something of the parent's.
std::optional<pawl::errc> rejected_use(const std::string& url) {
    try {
        auto own = pawl::locks::open(url);
        const auto none = own.try_acquire("child", a_minute);
    } catch (const pawl::store_error& error) {
        return error.code();
    }
    return std::nullopt;
}

int in_child(pawl::locks& inherited, pawl::lease& lease, const std::string& url,
             const std::string& key) {
    alarm(30);
    check(!lease.valid() && lease.lost() == pawl::loss_reason::closed, "a child trusts a lease");
    std::string said;
    try {
        const auto none = inherited.try_acquire(key, a_minute);
    } catch (const std::logic_error& error) {
        said = error.what();
    }
    check(said.find("opened before fork()") != std::string::npos, "a child is not told of fork()");
    // What SQLite knows of its locks is the parent's: it deleted the log under the child. And what
    // gRPC knows of its threads: calls in a child never ended.
    const bool has_lock_file = url.starts_with("sqlite:"), has_threads = url.starts_with("etcd:");
    if (has_lock_file || has_threads)
        check(rejected_use(url) == pawl::errc::unsupported,
              "a child may open a store that does not survive a fork");
    if (has_threads) return failed;
    // Another file is nothing to the parent, nor is a memory of the child's own.
    const auto elsewhere = has_lock_file ? url + "-of-child" : url;
    const bool is_parents = elsewhere == url && !url.starts_with("memory:");
    in_own_locks(elsewhere, key, is_parents);
    return failed;
}

void fork_after_open(const std::string& url) {
    auto locks = pawl::locks::open(url);
    auto lease = locks.try_acquire("parent", a_minute);
    // In the moment of the fork() another thread may be allocating, whose lock AddressSanitizer of
    // g++ 12 never opens in the child. So one that hangs has to do so each time; one that is wrong
    // is so at once.
    const auto hung = [](int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM; };
    int status = 0;
    for (int turn = 0; turn < 3 && (turn == 0 || hung(status)); ++turn) {
        const auto key = "child-" + std::to_string(turn);
        const auto child = fork();
        if (child == 0) _exit(in_child(locks, *lease, url, key));
        check(child > 0 && waitpid(child, &status, 0) == child, "there is no child of a fork()");
    }
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of a fork() failed or hung");
    check(lease->valid() && lease->renew(), "the parent's lease was disturbed");
    check(lease->release() == pawl::release_outcome::released, "the parent could not release");
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return 64;
    const std::string url = with_long_timeout(words[1]);
    auto locks = pawl::locks::open(url);
    scope_after_scope(locks);
    shared_handles(locks);
    end_of_locks(url);
    fork_after_open(url);
    return failed;
}
