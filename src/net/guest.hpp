// What a loop needs that works in an io_context of the application's: a context of its own inside
// that one, which can end while the other goes on.
//
// An io_context that is destroyed destroys the handlers that wait in it, and so ends all
// coroutines. Here the executor does that: once the guest has ended, what it is to run is destroyed
// instead. Timers and attachments are services of the guest's own context and end with it. Sockets
// are in the host's reactor: they are closed, so that what waits for them comes back to be
// destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace pawl::net {

class loop;

class loop_executor;

// What waits in a reactor. On its loop only.
class io_object : public boost::intrusive::list_base_hook<
                      boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    io_object(const io_object&) = delete;
    io_object& operator=(const io_object&) = delete;

    // The guest ends: close it. Not called where a whole context ends.
    virtual void context_ends() noexcept = 0;

protected:
    explicit io_object(const loop_executor& where);
    ~io_object() = default;
};

class guest_context final : public boost::asio::execution_context {
public:
    guest_context() = default;
    ~guest_context() = default;
    guest_context(const guest_context&) = delete;
    guest_context& operator=(const guest_context&) = delete;

    // Closes what does I/O; then its timers and attachments let go of their handlers.
    void end();
    void add(io_object& one) { open_.push_back(one); }

private:
    boost::intrusive::list<io_object, boost::intrusive::constant_time_size<false>> open_;
};

// What the executors of one guest share. The last of them goes with the last coroutine, and takes
// with it the loop, which coroutines use until then.
struct guest_life {
    std::atomic<bool> ended{false};
    // Who ends it: there, coroutines are unwound at once.
    std::thread::id ended_by{};
    // Once it has ended.
    std::shared_ptr<loop> remains{};
};

// Hands on to the executor of the host, as a strand does, while the guest is there. Without a life
// it is that of a guest which has ended.
template <class Host>
class guest_executor {
public:
    guest_executor(Host on, guest_context& of, std::shared_ptr<guest_life> life) noexcept
        : on_{std::move(on)}, of_{&of}, life_{std::move(life)} {}

    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
        return *of_;
    }
    boost::asio::execution_context& query(
        boost::asio::execution::context_as_t<boost::asio::execution_context&>) const noexcept {
        return *of_;
    }
    template <class Property>
        requires(boost::asio::can_query_v<const Host&, Property>)
    auto query(const Property& property) const noexcept {
        return boost::asio::query(on_, property);
    }
    template <class Property>
        requires(boost::asio::can_require_v<const Host&, Property> &&
                 !std::is_convertible_v<Property, boost::asio::execution::blocking_t::always_t>)
    auto require(const Property& property) const {
        auto on = boost::asio::require(on_, property);
        return guest_executor<decltype(on)>{std::move(on), *of_, life_};
    }
    template <class Property>
        requires(boost::asio::can_prefer_v<const Host&, Property> &&
                 !std::is_convertible_v<Property, boost::asio::execution::blocking_t::always_t>)
    auto prefer(const Property& property) const {
        auto on = boost::asio::prefer(on_, property);
        return guest_executor<decltype(on)>{std::move(on), *of_, life_};
    }

    template <class Function>
    void execute(Function&& what) const {
        // It is destroyed by its owner.
        if (!life_ || (life_->ended.load(std::memory_order_acquire) &&
                       life_->ended_by == std::this_thread::get_id()))
            return;
        on_.execute(task<std::decay_t<Function>>{life_, std::forward<Function>(what)});
    }

    friend bool operator==(const guest_executor& a, const guest_executor& b) noexcept {
        return a.of_ == b.of_ && a.on_ == b.on_;
    }

private:
    template <class Function>
    struct task {
        // First, so that it goes last.
        std::shared_ptr<guest_life> life;
        Function what;

        void operator()() {
            if (!life->ended.load(std::memory_order_acquire)) std::move(what)();
        }
    };

    Host on_;
    guest_context* of_;
    std::shared_ptr<guest_life> life_;
};

// The executor of a loop: for coroutines and timers what it is, and for sockets that of the
// io_context in which they are.
class loop_executor : public boost::asio::any_io_executor {
public:
    using io_type = boost::asio::io_context::executor_type;

    explicit loop_executor(const io_type& own) : any_io_executor{own}, io_{own} {}
    loop_executor(boost::asio::any_io_executor on, const io_type& host, guest_context& guest)
        : any_io_executor{std::move(on)}, io_{host}, guest_{&guest} {}

    // Null: of an own context.
    guest_context* guest() const noexcept { return guest_; }

    // NOLINTNEXTLINE(google-explicit-constructor): where a socket is made
    operator const io_type&() const noexcept { return io_; }

private:
    io_type io_;
    guest_context* guest_ = nullptr;
};

inline io_object::io_object(const loop_executor& where) {
    if (auto* home = where.guest()) home->add(*this);
}

}  // namespace pawl::net
