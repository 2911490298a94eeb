#include "engines/sqlite/store/sqlite_store.hpp"

#include "base/identity.hpp"
#include "engines/sqlite/client/wake_file.hpp"
#include "engines/sqlite/store/database.hpp"
#include "engines/sqlite/store/examination.hpp"
#include "net/event.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <list>
#include <utility>

namespace pawl::sqlite {
namespace {

using boost::asio::awaitable;

// A wait ends by itself before the note of the waiter in the file does.
constexpr auto wait_bound = std::chrono::seconds{45};

class sqlite_store : public lease_store, public std::enable_shared_from_this<sqlite_store> {
public:
    sqlite_store(net::loop& where, std::shared_ptr<database> data)
        : loop_{where}, data_{std::move(data)}, wake_{wake_path_of(data_->path()), data_->path()} {}

    // What the disk was not waited for goes with the power, and no quarantine sees that: it is the
    // same file.
    store_traits traits() const noexcept override {
        return {.strict_fencing = data_->durability() == synchronous::full,
                .notifies = true,
                .atomic_batch = true};
    }

    async<acquire_result<grant>> acquire(claim wanted) override {
        auto job = [data = data_, wanted = std::move(wanted), until = deadline()] {
            return data->acquire(wanted, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<bool> withdraw(withdrawal given_up) override {
        auto job = [data = data_, given_up = std::move(given_up), until = deadline()] {
            return data->withdraw(given_up, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        auto job = [data = data_, leases, until = deadline()] {
            return data->renew(leases, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<bool> release(std::string key, fence_token token, release_options how) override {
        auto job = [data = data_, key = std::move(key), token, how, until = deadline()] {
            return data->release(key, token, how, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        auto job = [data = data_, key = std::move(key), token, delay, until = deadline()] {
            return data->force_release(key, token, delay, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<std::optional<record>> inspect(std::string key) override {
        auto job = [data = data_, key = std::move(key), until = deadline()] {
            return data->inspect(key, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        auto job = [data = data_, keys = std::move(keys), until = deadline()] {
            return data->inspect_many(keys, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        auto job = [data = data_, prefix = std::move(prefix), after = std::move(after), limit,
                    until = deadline()] { return data->list(prefix, after, limit, until); };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        auto job = [data = data_, resource = std::move(resource), token, rule, until = deadline()] {
            return data->fence(resource, token, rule, until);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

    async<void> wait_change(std::string key, fence_token seen) override;

    async<examination> examine() override {
        auto job = [data = data_] {
            return result<examination>{examine_file(data->path(), data->durability())};
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }

private:
    // One wait_change that is under way.
    struct waiter {
        waiter(sqlite_store& store, watched_key what);
        ~waiter();
        waiter(const waiter&) = delete;
        waiter& operator=(const waiter&) = delete;

        sqlite_store& store;
        const watched_key watched;
        const instant until = lease_clock::now() + wait_bound;
        net::event changed;
        std::list<waiter*>::iterator place;
    };

    instant deadline() const { return lease_clock::now() + data_->settings().timeout; }
    static awaitable<void> forget(std::shared_ptr<sqlite_store> self, std::string key,
                                  std::string name);
    static awaitable<void> listen(std::shared_ptr<sqlite_store> self);
    awaitable<void> wake_changed();

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<database> data_;
    const std::string name_ = base::fresh_id();

    // On the loop only
    wake_file wake_;
    std::list<waiter*> waiters_;
    boost::asio::posix::stream_descriptor* listening_ = nullptr;
    std::uint64_t waits_ = 0;
};

sqlite_store::waiter::waiter(sqlite_store& store, watched_key what)
    : store{store}, watched{std::move(what)} {
    place = store.waiters_.insert(store.waiters_.end(), this);
}

// The last one to leave ends the listening, which would keep the store alive.
sqlite_store::waiter::~waiter() {
    store.waiters_.erase(place);
    if (store.waiters_.empty() && store.listening_ != nullptr) store.listening_->cancel();
}

// A verb never throws, but awaiting anything in a cancelled coroutine does: look before each.
async<void> sqlite_store::wait_change(std::string key, fence_token seen) {
    const auto self = shared_from_this();
    const auto started = co_await boost::asio::this_coro::cancellation_state;
    if (started.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    // Watched before the note is left: what happens from then on is not missed.
    if (auto fault = wake_.watch()) co_return std::move(*fault);
    waiter mine{*this, {key, seen}};
    if (listening_ == nullptr)
        boost::asio::co_spawn(loop_.get_executor(), listen(self), [](std::exception_ptr) {});

    const auto name = name_ + std::to_string(++waits_);
    auto job = [data = data_, watched = mine.watched, name, until = deadline()] {
        return data->register_waiter(watched, name, until);
    };
    const auto noted = co_await loop_.run_blocking(std::move(job));
    if (noted.has_error()) co_return noted.error();
    if (!*noted) co_return result<void>{};
    const auto registered = co_await boost::asio::this_coro::cancellation_state;
    if (registered.cancelled() == boost::asio::cancellation_type::none) {
        auto waiting = mine.changed.wait_until(mine.until);
        co_await std::move(waiting);
    }
    boost::asio::co_spawn(loop_.get_executor(), forget(self, key, name), [](std::exception_ptr) {});
    co_return result<void>{};
}

// Detached: a waiter that was cancelled cannot await it. Should it fail, the note ends by itself.
awaitable<void> sqlite_store::forget(std::shared_ptr<sqlite_store> self, std::string key,
                                     std::string name) {
    auto job = [data = self->data_, key, name, until = self->deadline()] {
        return data->remove_waiter(key, name, until);
    };
    co_await self->loop_.run_blocking(std::move(job));
}

// Runs while anybody waits. One look at the file serves all waiters of this store.
awaitable<void> sqlite_store::listen(std::shared_ptr<sqlite_store> self) {
    if (self->listening_ != nullptr) co_return;
    auto touched = self->wake_.listen(self->loop_.get_executor());
    struct announced final : net::io_object {
        explicit announced(sqlite_store& of) : io_object{of.loop_.get_executor()}, store{of} {}
        ~announced() { store.listening_ = nullptr; }
        void context_ends() noexcept override { store.listening_->cancel(); }
        sqlite_store& store;
    };
    self->listening_ = &touched;
    const announced until_the_end{*self};
    while (!self->waiters_.empty()) {
        boost::system::error_code ended;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ended);
        co_await touched.async_wait(boost::asio::posix::stream_descriptor::wait_read, token);
        self->wake_.drain();
        // Touched or deleted: in the second case there is another file to watch.
        self->wake_.watch();
        co_await self->wake_changed();
    }
}

awaitable<void> sqlite_store::wake_changed() {
    std::vector<watched_key> watched;
    for (const auto* each : waiters_) {
        const bool known = !watched.empty() && watched.back().key == each->watched.key &&
                           watched.back().seen == each->watched.seen;
        if (!known) watched.push_back(each->watched);
    }
    if (watched.empty()) co_return;
    auto job = [data = data_, &watched, until = deadline()] {
        return data->changed(watched, until);
    };
    const auto answer = co_await loop_.run_blocking(std::move(job));
    for (auto* each : waiters_) {
        // A look that failed wakes all: their callers will see what is wrong.
        bool wake = answer.has_error();
        for (std::size_t i = 0; !wake && i < watched.size(); ++i)
            wake = (*answer)[i] && watched[i].key == each->watched.key &&
                   watched[i].seen == each->watched.seen;
        if (wake) each->changed.set();
    }
}

}  // namespace

result<std::shared_ptr<lease_store>> make_sqlite_store(net::loop& where, const std::string& path,
                                                       sqlite_settings settings) {
    auto opened = database::open(path, std::move(settings));
    if (opened.has_error()) return opened.error();
    return std::shared_ptr<lease_store>{std::make_shared<sqlite_store>(where, std::move(*opened))};
}

}  // namespace pawl::sqlite
