// The text of a list, written entry by entry.
//
// Not as one document that is serialized at its end: that would keep the loop for as long, and take
// several times the memory.
#pragma once

#include "api/limits/cooperative_yield.hpp"
#include "api/request/call.hpp"
#include "http/message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::api {

// A page ends with the entry that fills it, though its limit asks for more: `next` goes on there.
constexpr std::size_t page_bytes_max = std::size_t{2} * 1024 * 1024;

// On its loop only.
class list_writer {
public:
    // `as_of` is a time before the first look at what is listed: what changes from then on is told
    // to those who follow the list's topic, and no change falls between the two.
    list_writer(net::loop& where, std::string_view name, std::string as_of);

    // REQUIRES: give_turn() is awaited before the next one where turn_is_over().
    void add(const boost::json::object& one);
    bool turn_is_over() const { return slices_.is_due(); }
    boost::asio::awaitable<void> give_turn() { return slices_.give_turn(); }

    std::size_t size() const noexcept { return count_; }
    bool is_full() const noexcept { return text_.size() >= page_bytes_max; }
    std::size_t room() const noexcept { return is_full() ? 0 : page_bytes_max - text_.size(); }
    // Of those so far. REQUIRES: there is one.
    std::size_t bytes_of_one() const noexcept { return text_.size() / count_; }

    // 200 with an ETag over all but the time, or 304. Once, as the last.
    http::response finish(const call& asked, std::string_view next);

private:
    void digest();

    cooperative_yield slices_;
    const std::string as_of_;
    std::string text_;
    std::string digests_;  // of what has been written, piece by piece
    std::size_t digested_ = 0;
    std::size_t count_ = 0;
};

}  // namespace pawl::api
