// The answer to one request, out of the pieces in which it arrives. Beast stays inside.
#pragma once

#include "net/https/https_pool.hpp"

#include <pawl/errors.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::net {

constexpr std::size_t head_max = std::size_t{64} * 1024;

// How an answer ends.
enum class answer_shape {
    bounded,  // its body is at most so large
    endless,  // its body is taken away as it comes
    headless  // none has a body: the answer to HEAD, or to CONNECT
};

class answer_reader {
public:
    answer_reader(answer_shape shape, std::size_t body_max);
    ~answer_reader();
    answer_reader(const answer_reader&) = delete;
    answer_reader& operator=(const answer_reader&) = delete;

    // What is wrong with it, in the sentence "the answer …"; empty: nothing.
    std::string take(std::string_view bytes);
    // The connection has ended.
    std::string take_end();

    answer_shape shape() const noexcept;
    bool has_begun() const noexcept;
    bool has_head() const noexcept;
    bool is_whole() const noexcept;
    // Another request may follow on the connection. REQUIRES: is_whole().
    bool keeps_connection() const;

    // REQUIRES: has_head().
    unsigned status() const;
    http_fields fields() const;
    // What has come of the body since it was last taken.
    std::string take_body();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace pawl::net
