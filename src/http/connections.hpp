// All connections of one server, and what they share.
#pragma once

#include "http/alarms.hpp"
#include "http/certificate.hpp"
#include "http/server.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::http {

class connection;

// Descriptors that are left to the rest of the process: stores, journals, commands.
constexpr std::size_t descriptors_reserved = 256;
// Beyond connections_max so many at a time are told why; the others are closed without a word.
constexpr std::size_t turned_away_max = 64;

// On its executor only. Shared with its connections.
class connections : public std::enable_shared_from_this<connections> {
public:
    using tcp = boost::asio::ip::tcp;
    using place = std::list<connection*>::iterator;

    explicit connections(server_parts made_of);

    const limits& bounds() const noexcept { return parts_.bounds; }
    const boost::asio::any_io_executor& executor() const noexcept { return parts_.executor; }
    const handler& answer() const noexcept { return parts_.answer; }
    response refuse(unsigned status, std::string_view detail) const;
    void warn(std::string_view line) const;

    // Takes over a socket that was accepted.
    void welcome(tcp::socket socket, const tcp::endpoint& peer);
    // Cuts the connection that has been idle for longest. False where there is none.
    bool make_way();
    // Cuts those that answer nothing, and tells the others.
    void begin_stop();
    bool is_stopping() const noexcept { return stopping_; }
    void cut_all();
    // But for those that only wait for the other side to have read all.
    bool is_empty() const noexcept { return idle_.size() + busy_.size() == leaving_; }

    // What a connection says of itself. It begins busy, and ends so.
    place enter(connection& one);
    void become_idle(place where) { idle_.splice(idle_.end(), busy_, where); }
    void become_busy(place where) { busy_.splice(busy_.end(), idle_, where); }
    void begin_leaving() noexcept;
    void closed(const connection& one) noexcept;  // its socket is
    void leave(place where) noexcept;             // the last of it, when leaving
    bool begin_request();                         // false: too many are being answered
    void end_request() noexcept { --answering_; }
    // False where all connections together hold too much of what has been half received.
    bool hold(std::size_t before, std::size_t now) noexcept;

    // One second long the same.
    std::string_view date();
    // What one call of receive() fills and its caller has done with before anybody else runs.
    std::array<char, 16 * 1024>& scratch() noexcept { return scratch_; }

    alarms deadlines;
    server_counts counts;
    std::unique_ptr<certificate> identity;  // none: without TLS
    std::function<void()> when_empty;

private:
    std::vector<std::shared_ptr<connection>> everyone() const;

    server_parts parts_;
    std::size_t connections_max_;
    std::list<connection*> idle_;  // since longest in front
    std::list<connection*> busy_;
    std::size_t answering_ = 0;
    std::size_t turned_away_ = 0;
    std::size_t leaving_ = 0;
    std::size_t bytes_held_ = 0;
    std::int64_t date_second_ = -1;
    std::string date_;
    std::array<char, 16 * 1024> scratch_{};
    bool stopping_ = false;
};

}  // namespace pawl::http
