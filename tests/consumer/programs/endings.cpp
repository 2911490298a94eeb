// Ends that a program may come to, on the store that it is given: a scope, its `locks`, a fork().
// Ends with 0 if each had the answer that the documentation promises.
#include <pawl/pawl.hpp>

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
    auto lease = locks->try_acquire("outlives", {.ttl = 2s});
    const auto told = lease->stop_token();
    std::this_thread::sleep_for(200ms);
    locks.reset();
    waiter.join();
    check(ended == pawl::errc::closed, "a blocked acquire did not end with errc::closed");
    check(told.stop_requested() && !lease->valid(), "a lease that outlives its locks is trusted");
    check(lease->lost() == pawl::loss_reason::closed, "it does not say why it is lost");
}

void in_own_locks(const std::string& url, bool is_parents) {
    auto own = pawl::locks::open(url);
    const auto refused = own.try_acquire("parent", a_minute);
    check(!is_parents || !refused, "a child got the key that its parent holds");
    const auto granted = own.try_acquire("child", a_minute);
    check(granted && granted->valid(), "a child's own locks do not work");
}

int in_child(pawl::locks& inherited, pawl::lease& lease, const std::string& url) {
    alarm(30);
    check(!lease.valid() && lease.lost() == pawl::loss_reason::closed, "a child trusts a lease");
    std::string said;
    try {
        const auto none = inherited.try_acquire("child", a_minute);
    } catch (const std::logic_error& error) {
        said = error.what();
    }
    check(said.find("opened before fork()") != std::string::npos, "a child is not told of fork()");
    if (url.starts_with("sqlite:")) {
        // What SQLite knows of its locks is the parent's: it deleted the log under the child.
        auto why = pawl::errc::unreachable;
        try {
            const auto same = pawl::locks::open(url);
        } catch (const pawl::store_error& error) {
            why = error.code();
        }
        check(why == pawl::errc::unsupported, "a child may open the file that its parent has open");
    }
    // Another file is nothing to the parent.
    const auto elsewhere = url.starts_with("sqlite:") ? url + "-of-child" : url;
    in_own_locks(elsewhere, elsewhere == url);
    return failed;
}

void fork_after_open(const std::string& url) {
    auto locks = pawl::locks::open(url);
    auto lease = locks.try_acquire("parent", a_minute);
    const auto child = fork();
    if (child == 0) _exit(in_child(locks, *lease, url));
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "a child of a fork() failed or hung");
    check(lease->valid() && lease->renew(), "the parent's lease was disturbed");
    check(lease->release() == pawl::release_outcome::released, "the parent could not release");
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return 64;
    const std::string url = words[1];
    auto locks = pawl::locks::open(url);
    scope_after_scope(locks);
    shared_handles(locks);
    end_of_locks(url);
    fork_after_open(url);
    return failed;
}
