#include "api/agent_view.hpp"

#include "agent/agent.hpp"
#include "engines/memory/store/memory_store.hpp"
#include "net/loop.hpp"
#include "runtime/core.hpp"

#include <boost/asio/post.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <future>
#include <memory>
#include <new>
#include <utility>

namespace pawl::api {
namespace {

// A loop whose memory can be read by none once it has ended, in every build.
class guarded_loop {
public:
    guarded_loop() { loop_ = new (page_) net::loop; }
    ~guarded_loop() {
        end();
        ::munmap(page_, sizeof(net::loop));
    }
    guarded_loop(const guarded_loop&) = delete;
    guarded_loop& operator=(const guarded_loop&) = delete;

    net::loop& operator*() const { return *loop_; }
    void end() {
        if (loop_ != nullptr) std::exchange(loop_, nullptr)->~loop();
        EXPECT_EQ(::mprotect(page_, sizeof(net::loop), PROT_NONE), 0);
    }

private:
    void* page_ = ::mmap(nullptr, sizeof(net::loop), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    net::loop* loop_ = nullptr;
};

// Goal: an agent that is stopped while a web UI is open ends with 0. Method: its loop stands still
// when the API's looks at it, and comes to that only when the API's loop is gone.
TEST(AgentView, ALookMayOutliveTheLoopThatAsked) {
    const auto guards = exec::launcher::start();
    runtime::core core{
        [](net::loop& where) { return pawl::memory::make_memory_store(where, store_settings{}); },
        store_settings{}, open_options{}};
    agent::agent_parts parts;
    parts.core = &core;
    parts.guards = &guards;
    const auto view = view_of(std::make_shared<agent::agent>(std::move(parts)), core.loop());
    guarded_loop second;
    EXPECT_TRUE((*second).wait_for(view->look(std::chrono::minutes{1})));
    std::promise<void> gone;
    boost::asio::post(core.loop().get_executor(), [&] { gone.get_future().wait(); });
    EXPECT_FALSE((*second).wait_for(view->look(millis{10})));
    second.end();
    gone.set_value();
    // Behind the look.
    auto nothing = []() -> boost::asio::awaitable<bool> { co_return true; };
    EXPECT_TRUE(core.loop().wait_for(nothing()));
}

}  // namespace
}  // namespace pawl::api
