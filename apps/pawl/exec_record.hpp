// The journal's row for a run of `pawl exec`.
#pragma once

#include "runtime/core.hpp"
#include "runtime/run_recorder.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::app {

enum class recording { on, off };

constexpr millis journal_patience{2'000};

// Blocks the thread that calls it, for a bounded time: a journal that is away delays nothing much
// and stops nothing.
class exec_record {
public:
    exec_record(runtime::core& core, recording wanted);
    ~exec_record() { silence(); }
    exec_record(const exec_record&) = delete;
    exec_record& operator=(const exec_record&) = delete;

    beginning begin(const run_start& start);
    // Ends earlier runs of this key whose process was killed. `inspect` reads the store.
    void judge_earlier(const std::string& key,
                       const std::function<std::optional<record>(const std::string&)>& inspect);
    // Says that the run is alive until it ends. `on_cancel` is called, on the loop and at most
    // once, when somebody asks for its end.
    void keep_alive(std::function<void()> on_cancel);
    // Waits for the journal until `stop` at most.
    void end(run_end how, millis patience = journal_patience, std::stop_token stop = {});
    // Saves a checkpoint of this run, awaited on the loop; empty where there is no journal.
    std::function<async<bool>(std::string)> saver() const;

private:
    struct pulse;

    static boost::asio::awaitable<bool> beat(std::shared_ptr<pulse> state);
    void silence();

    net::loop& loop_;
    std::shared_ptr<journal> journal_;
    std::shared_ptr<runtime::run_recorder> record_;
    std::shared_ptr<pulse> pulse_;
    std::string job_;
    bool reached_ = true;  // the journal, when the run began
};

}  // namespace pawl::app
