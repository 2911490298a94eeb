// The journal's row for a run of `pawl exec`.
#pragma once

#include "runtime/core.hpp"
#include "runtime/run_recorder.hpp"

#include <pawl/spi/journal.hpp>

#include <functional>
#include <memory>

namespace pawl::app {

enum class recording { on, off };

// Blocks the thread that calls it, for a bounded time: a journal that is away delays nothing much
// and stops nothing.
class exec_record {
public:
    exec_record(runtime::core& core, recording wanted);
    ~exec_record() { silence(); }
    exec_record(const exec_record&) = delete;
    exec_record& operator=(const exec_record&) = delete;

    beginning begin(const run_start& start);
    // Says that the run is alive until it ends. `on_cancel` is called, on the loop and at most
    // once, when somebody asks for its end.
    void keep_alive(std::function<void()> on_cancel);
    void end(run_end how);

private:
    struct pulse;

    static boost::asio::awaitable<bool> beat(std::shared_ptr<pulse> state);
    void silence();

    net::loop& loop_;
    std::shared_ptr<journal> journal_;
    std::shared_ptr<runtime::run_recorder> record_;
    std::shared_ptr<pulse> pulse_;
    std::string job_;
};

}  // namespace pawl::app
