#include "net/byte_stream.hpp"

#include "net/callback_timer.hpp"
#include "net/loop.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace pawl::net {
namespace {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

// Listens, and accepts nothing.
struct listener {
    explicit listener(int backlog) {
        acceptor.open(tcp::v4());
        acceptor.bind({boost::asio::ip::address_v4::loopback(), 0});
        acceptor.listen(backlog);
    }
    tcp::endpoint place() const { return acceptor.local_endpoint(); }

    boost::asio::io_context context;
    tcp::acceptor acceptor{context};
};

// The kernel drops what asks to connect once its queue is full: as behind a link that is dead.
struct swallowing_listener : listener {
    swallowing_listener() : listener{0} {
        do {
            queue.emplace_back(context);
            queue.back().open(tcp::v4());
            queue.back().non_blocking(true);
            // Asio's would wait for its end.
            const auto where = place();
            ::connect(queue.back().native_handle(), where.data(),
                      static_cast<socklen_t>(where.size()));
        } while (connects(queue.back()));
    }
    static bool connects(tcp::socket& one) {
        pollfd ready{.fd = one.native_handle(), .events = POLLOUT, .revents = 0};
        return ::poll(&ready, 1, 200) == 1;
    }
    // From now on it answers.
    void wake_up() {
        // Else it asks again, and takes the place.
        queue.pop_back();
        for (std::size_t waiting = queue.size(); waiting > 0; --waiting) acceptor.accept();
    }

    std::vector<tcp::socket> queue;
};

// Where no process listens.
tcp::endpoint rejecting_place() { return listener{1}.place(); }

struct ByteStream : testing::Test {
    result<void> connect(std::vector<tcp::endpoint> among) {
        return loop_.wait_for(stream_.connect_to_any(std::move(among)));
    }

    // When each address has had its first turn.
    template <class Function>
    void later(Function what) {
        const auto set = [this](Function then) -> boost::asio::awaitable<void> {
            alarm_.call_after(1s, std::move(then));
            co_return;
        };
        loop_.wait_for(set(std::move(what)));
    }

    loop loop_;
    callback_timer alarm_{loop_.get_executor()};
    byte_stream stream_{loop_.get_executor()};
};

TEST_F(ByteStream, AnAddressThatSwallowsWhatIsSentToItMakesWayForTheNext) {
    const swallowing_listener dead;
    const listener well{16};
    EXPECT_TRUE(connect({dead.place(), rejecting_place(), dead.place(), well.place()}).has_value());
    EXPECT_TRUE(stream_.is_quiet());
}

TEST_F(ByteStream, AddressesWithoutAListenerAreToldAtOnce) {
    const auto rejected = connect({rejecting_place(), rejecting_place()});
    ASSERT_TRUE(rejected.has_error());
    EXPECT_EQ(rejected.error().code, errc::unreachable);
    EXPECT_EQ(rejected.error().detail, "Connection refused");
}

// One that is slow, and not dead, is tried again, for longer.
TEST_F(ByteStream, AnAddressThatWakesUpIsTriedAgain) {
    swallowing_listener dead;
    const swallowing_listener other;
    later([&] { dead.wake_up(); });
    EXPECT_TRUE(connect({dead.place(), other.place()}).has_value());
}

TEST_F(ByteStream, CloseEndsAnAttemptAtAnyAddress) {
    const swallowing_listener one, other;
    later([&] { stream_.close(); });
    EXPECT_TRUE(connect({one.place(), other.place()}).has_error());
}

}  // namespace
}  // namespace pawl::net
