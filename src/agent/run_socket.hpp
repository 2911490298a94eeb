// By which a command saves its progress and checks fences, so that it needs no key to the store.
//
// A Unix socket for one run: only the run's user, ours and root are heard, only under the run's id
// and token, and never for a token that is newer than the run's own.
#pragma once

#include <pawl/spi/async.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/result.hpp>

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::agent {

// What a run may do by its socket; awaited on the executor.
struct run_verbs {
    // False: this run is another holder's by now. Empty: there is no journal.
    std::function<async<bool>(std::string text)> save_checkpoint{};
    std::function<async<fence_result>(std::string resource, fence_token token, fence_rule rule)>
        check_fence{};
};

// The form of what is said. One request for each connection: a line of JSON, and behind it as many
// bytes as it says; then one line of JSON in answer.
//   {"verb": "checkpoint", "run": ID, "fence_token": N, "bytes": N}
//     → {"answer": "saved" | "stale"}
//   {"verb": "fence", "run": ID, "fence_token": N, "resource": NAME, "token": N, "once": BOOL}
//     → {"answer": "judged", "accepted": BOOL, "newest": N, "never_issued": BOOL}
// or, to both, {"answer": "rejected", "detail": …} and {"answer": "failed", "error": …, "detail":
// …} with the name of an errc.
constexpr std::size_t run_request_bytes_max = std::size_t{8} * 1024;  // of the line
constexpr std::size_t run_connections_max = 16;  // at the same time; the others wait
// Whose fences a run may check: the store keeps each that was ever checked.
constexpr std::size_t run_resources_max = 1'000;
constexpr millis run_request_wait_max{10'000};  // from the connection to the last byte

// On its executor only.
class run_socket {
public:
    // Else why it cannot be made, in one line: no folder, no descriptor left. A folder that is gone
    // is made anew.
    using opened = boost::system::result<std::unique_ptr<run_socket>, std::string>;
    static opened open(boost::asio::any_io_executor executor, const std::string& folder,
                       run_ref who, run_verbs verbs, std::optional<uid_t> user);
    // What is being done goes on, and its answer is still sent.
    ~run_socket();

    const std::string& path() const noexcept;

private:
    struct state;
    explicit run_socket(std::shared_ptr<state> all) : state_{std::move(all)} {}

    std::shared_ptr<state> state_;  // with the coroutines that serve it
};

// Puts a variable into an environment, in the place of what had its name.
void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value);

}  // namespace pawl::agent
