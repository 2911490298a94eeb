// One request to an agent, and its answer, for callers that block.
//
// A connection for each: a command asks a few times in its life. Beast stays inside.
#pragma once

#include "client/address.hpp"
#include "net/loop.hpp"

#include <pawl/errors.hpp>

#include <boost/asio/ssl/context.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::client {

constexpr std::size_t head_bytes_max = std::size_t{32} * 1024;
constexpr std::size_t body_bytes_max = std::size_t{64} * 1024 * 1024;

struct question {
    std::string method = "GET";
    std::string target;  // from /api on, percent-encoded
    std::string body{};  // JSON; empty: none
    std::string accept = "application/json";
    std::vector<std::pair<std::string, std::string>> fields{};
};

struct answer {
    unsigned status = 0;
    std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
    std::string body;

    // Empty when there is none. REQUIRES: lower case.
    std::string_view find(std::string_view name) const;
};

enum class length { bounded, endless };

class caller {
public:
    // Throws store_error where a file of the trust cannot be used. `token` may be empty.
    caller(address where, std::string token);
    ~caller();
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;

    const address& where() const noexcept { return where_; }
    bool has_token() const noexcept { return !token_.empty(); }

    // Blocks. What was not answered is `unreachable` where it cannot have had an effect, else
    // `outcome_unknown`. Whatever the status: it is an answer.
    result<answer> ask(const question& what);

    // The same for a body that comes bit by bit: begin() ends with the head, more() with the next
    // piece, or with nothing at the end.
    result<answer> begin(const question& what, length how);
    result<std::optional<std::string>> more();
    // Adds all that is left to the body, within body_bytes_max.
    result<void> read_rest(answer& head);

private:
    class talk;
    std::string text_of_request(const question& what) const;

    // Constant after construction
    address where_;
    std::string token_;
    std::shared_ptr<boost::asio::ssl::context> trust_;
    // State
    net::loop loop_;
    std::shared_ptr<talk> current_;
};

}  // namespace pawl::client
