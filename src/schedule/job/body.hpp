// What a run does, as the dispatcher sees it: something to start, to keep alive and to stop.
//
// A body does not know of leases. It is told until when it may live, and that instant must hold
// whatever becomes of this process: another node may be granted the key right after it.
#pragma once

#include "runs/run_result.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::schedule {

// What a body is told about its run. No aggregate: it is moved through co_await (docs/style.md, 9).
struct run_order {
    run_order() = default;

    std::string run_id;
    std::string job;
    std::string key;
    std::string idempotency_key;
    std::string checkpoint;  // the last one's text; empty: none
    std::uint32_t partition = 0;
    std::uint32_t partition_count = 1;
    bool has_slots = false;  // the two say which slot of how many
    fence_token token{};
    std::optional<pawl::occurrence> occurrence;
    int attempt = 1;
    std::string trigger;
    std::vector<std::string> arguments;  // of a manual run
    std::string owner;
    std::string node;
    // Saves progress, awaited on the loop: false where this run is another node's by now. Empty
    // where there is no journal.
    std::function<async<bool>(std::string text)> save_checkpoint;
};

using runs::stop_cause;
using runs::work_result;

// What the body writes, in order; called on the loop.
using output_sink = std::function<void(std::string_view bytes)>;
constexpr std::size_t output_chunk_max = std::size_t{64} * 1024;  // of one call

// Used on the loop only. Destroyed early, it ends what it runs as if this process had died.
class body {
public:
    virtual ~body() = default;

    // REQUIRES: called once; this is kept alive until it has ended.
    virtual boost::asio::awaitable<work_result> run(run_order order) = 0;
    // Moves both instants, for every renewal; also before run(). What the body does is over at
    // kill_at, whatever happens to this process.
    virtual void extend(instant stop_at, instant kill_at) = 0;
    // Asks it to end, and ends it by force after the job's grace. Idempotent; also before run(),
    // which then starts nothing.
    virtual void stop(stop_cause why) = 0;
    // The lease was lost before trust in it had ended, and another node may hold the key: ends as
    // fast as may be. Also before run().
    virtual void force_stop() = 0;
};

using body_maker = std::function<std::shared_ptr<body>(output_sink)>;

}  // namespace pawl::schedule
