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
#include <unordered_map>
#include <vector>

namespace pawl::http {

class connection;

// Descriptors that are left to the rest of the process: stores, journals, commands.
constexpr std::size_t descriptors_reserved = 256;
// Beyond connections_max so many at a time are told why; the others are closed without a word.
constexpr std::size_t turned_away_max = 64;

// What counts as one address: IPv6 networks hand out 64 bits to anybody.
std::uint64_t address_group(const boost::asio::ip::address& of);

// On its executor only. Shared with its connections.
class connections : public std::enable_shared_from_this<connections> {
public:
    using tcp = boost::asio::ip::tcp;
    using list = std::list<connection*>;
    struct place {
        list* in = nullptr;
        list::iterator at{};
    };

    explicit connections(server_parts made_of);

    const limits& bounds() const noexcept { return parts_.bounds; }
    const boost::asio::any_io_executor& executor() const noexcept { return parts_.executor; }
    const handler& answer() const noexcept { return parts_.answer; }
    response reject(unsigned status, std::string_view detail) const;
    void warn(std::string_view line) const;

    // Takes over a socket that was accepted.
    void welcome(tcp::socket socket, const tcp::endpoint& peer, bool to_loopback);
    // Cuts the connection that has been idle for longest, or else the one whose request has been
    // coming for longest. False where there is none.
    bool make_way();
    // Cuts those that answer nothing, and tells the others.
    void begin_stop();
    bool is_stopping() const noexcept { return stopping_; }
    void cut_all();
    // But for those that only wait for the other side to have read all.
    bool is_empty() const noexcept {
        return idle_.size() + coming_.size() + busy_.size() == leaving_;
    }

    // What a connection says of itself. It begins without a request, and ends busy.
    place enter(connection& one);
    void become_idle(place& where) { move(where, idle_); }
    void become_coming(place& where) { move(where, coming_); }
    void become_busy(place& where) { move(where, busy_); }
    void begin_leaving() noexcept;
    void closed(const connection& one) noexcept;  // its socket is
    void leave(place where) noexcept;             // the last of it, when leaving
    bool begin_request();                         // false: too many are being answered
    void end_request() noexcept { --answering_; }
    // False where all connections together hold too much of what has been half received.
    bool hold(std::size_t before, std::size_t now) noexcept;
    // Of a request that has come in part. Beyond half of what may be held the oldest of the address
    // that holds the most makes way, so that who sends halves closes no place for answers.
    void count_coming(const connection& one, std::size_t before, std::size_t now);
    // A body that is being sent, until it is released; null: it is not shared. False where it does
    // not fit, and then it is not counted.
    bool hold_body(const std::string* shared, std::size_t bytes);
    void release_body(const std::string* shared, std::size_t bytes) noexcept;

    // One second long the same.
    std::string_view date();
    // What one call of receive() fills and its caller has done with before anybody else runs.
    std::array<char, std::size_t{16} * 1024>& scratch() noexcept { return scratch_; }

    alarms deadlines;
    server_counts counts;
    std::unique_ptr<certificate> identity;  // none: without TLS
    std::function<void()> when_empty;

private:
    std::vector<std::shared_ptr<connection>> everyone() const;
    static void move(place& where, list& to);
    bool has_room_for(std::uint64_t group);
    template <class Predicate>
    bool make_way_of(Predicate may_go);

    server_parts parts_;
    std::size_t connections_max_;
    list idle_;    // since longest in front
    list coming_;  // their requests have not come whole; the oldest in front
    list busy_;
    std::unordered_map<std::uint64_t, std::size_t> by_address_;
    std::size_t answering_ = 0;
    std::size_t turned_away_ = 0;
    std::size_t leaving_ = 0;
    std::size_t bytes_held_ = 0;
    std::size_t bytes_coming_ = 0;
    std::unordered_map<std::uint64_t, std::size_t> coming_by_address_;  // of bytes_coming_
    std::unordered_map<const std::string*, std::size_t> sending_;  // of shared bodies: how often
    std::int64_t date_second_ = -1;
    std::string date_;
    std::array<char, std::size_t{16} * 1024> scratch_{};
    bool stopping_ = false;
};

}  // namespace pawl::http
