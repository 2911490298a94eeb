#include "engines/sqlite/journal/write_queue.hpp"

#include "net/boot_timer.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

namespace pawl::sqlite {
namespace {

// Who has held the file's write lock leaves it alone for as long, at most for this, before it takes
// it again: a renewal of a lease in the same file can only ask again and again, and would hardly
// ever find the lock free. What waits meanwhile goes together in the next transaction.
constexpr auto courtesy_max = std::chrono::milliseconds{2};

}  // namespace

void write_queue::enter(std::shared_ptr<waiting_write> write, std::function<void()> resume) {
    line_.push_back({std::move(write), std::move(resume)});
    if (working_) return;
    working_ = true;
    boost::asio::co_spawn(loop_.get_executor(), work(shared_from_this()),
                          [](std::exception_ptr) {});
}

// Runs while anything waits.
boost::asio::awaitable<void> write_queue::work(std::shared_ptr<write_queue> self) {
    std::optional<net::boot_timer> courtesy;
    while (!self->line_.empty()) {
        std::vector<std::shared_ptr<waiting_write>> batch;
        std::vector<std::function<void()>> resumes;
        while (!self->line_.empty() && batch.size() < writes_per_transaction_max) {
            batch.push_back(std::move(self->line_.front().write));
            resumes.push_back(std::move(self->line_.front().resume));
            self->line_.pop_front();
        }
        auto job = [file = self->file_, &batch] {
            const auto begun = lease_clock::now();
            file->write(batch);
            return lease_clock::now() - begun;
        };
        const auto held = co_await self->loop_.run_blocking(std::move(job));
        // One who writes alone does not hold it long enough to be in the way.
        const bool crowded = batch.size() > 1 || !self->line_.empty();
        for (const auto& resume : resumes) resume();
        resumes.clear();
        if (self->line_.empty() || !crowded) continue;
        if (!courtesy) courtesy.emplace(self->loop_.get_executor());
        courtesy->set(lease_clock::now() + std::min<std::chrono::nanoseconds>(held, courtesy_max));
        co_await courtesy->wait();
    }
    self->working_ = false;
}

}  // namespace pawl::sqlite
