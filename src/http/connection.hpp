// One connection: reads a request, has it answered, and begins again.
#pragma once

#include "http/alarms.hpp"
#include "http/connections.hpp"
#include "http/request_reader.hpp"
#include "http/response_head.hpp"
#include "http/transport.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl::http {

// So much of a response has to be taken within write_wait.
constexpr std::size_t part_bytes = std::size_t{256} * 1024;
// So much is moved, or so often, before anybody else has a turn: a peer that is never slow would
// have the loop for itself.
constexpr std::size_t turn_bytes = std::size_t{64} * 1024;
constexpr std::size_t turn_bytes_of_a_step = 1024;
// After the last response: what still arrives is read and dropped, since closing a socket with
// unread bytes takes back what was sent.
constexpr millis lingering_close_wait{1'000};
constexpr std::size_t lingering_close_bytes_max = std::size_t{1024} * 1024;
// How often a peer is looked at whose unread bytes hide that it has gone.
constexpr millis peer_looked_at_every{100};

// On its executor only. Lives as long as its coroutine.
class connection : public std::enable_shared_from_this<connection> {
public:
    using tcp = boost::asio::ip::tcp;
    // Turned away: nothing is read, and why is said.
    enum class purpose { serve, turn_away };
    struct origin {
        tcp::endpoint peer;
        bool to_loopback = false;  // by a listener that only this machine reaches
    };

    connection(std::shared_ptr<connections> all, tcp::socket socket, const origin& from,
               purpose what);
    ~connection();

    static boost::asio::awaitable<void> serve(std::shared_ptr<connection> self);

    // Closes it at once. What it waits for ends soon.
    void cut() noexcept;
    // The server stops: what is being answered is told, and finishes; anything else is cut.
    void wind_up();
    purpose what_for() const noexcept { return purpose_; }
    std::uint64_t peer_group() const { return address_group(peer_); }

private:
    class stream_body;
    class held_body;
    enum class phase { idle, head, body, answering, leaving };
    enum class arrival { request, fault, none };
    struct exchange {
        bool is_head = false;
        bool keeps_alive = false;
        bool is_http_1_0 = false;
    };

    boost::asio::awaitable<bool> greet();
    boost::asio::awaitable<arrival> read_request();
    boost::asio::awaitable<bool> receive();
    boost::asio::awaitable<bool> converse();
    boost::asio::awaitable<response> ask(std::shared_ptr<const request> asked);
    boost::asio::awaitable<bool> hand_over(response& answered, const exchange& about);
    boost::asio::awaitable<bool> answer(response& answered, const exchange& about);
    boost::asio::awaitable<bool> stream(response& answered, exchange& about);
    boost::asio::awaitable<bool> produce(const producer& body, std::shared_ptr<stream_body> into);
    boost::asio::awaitable<void> turn_down(request_fault why);
    boost::asio::awaitable<void> part();
    boost::asio::awaitable<bool> send(std::string_view first, std::string_view second = {},
                                      std::string_view third = {});
    boost::asio::awaitable<bool> ready(tcp::socket::wait_type what);
    boost::asio::awaitable<void> give_turn();

    bool enter(phase next);
    void give_time(millis wait);
    void begin_answering(request& asked);
    void end_answering() noexcept;
    bool count_held();
    bool turn_is_over(std::size_t bytes) noexcept;
    void watch_peer();
    void look_at_peer();
    persistence persistence_of(const exchange& about) const;
    std::string head_or_excuse(response& answered, head_facts facts);

    std::shared_ptr<connections> all_;
    tcp::socket socket_;
    transport transport_;
    alarms::alarm deadline_;                   // of what the connection waits for
    alarms::alarm look_again_;                 // at the peer, while it is answered
    std::unique_ptr<request_reader> reader_;   // none while the connection is idle
    std::stop_source gone_{std::nostopstate};  // of the request that is being answered
    boost::asio::ip::address peer_;
    bool to_loopback_;
    connections::place place_;
    std::size_t bytes_held_ = 0;
    std::size_t bytes_coming_ = 0;  // of a request that has come in part
    std::size_t asked_bytes_ = 0;   // of the request that is being answered
    std::size_t serial_ = 0;        // of the request
    std::size_t moved_ = 0;         // bytes of this turn
    purpose purpose_;
    phase phase_ = phase::head;
    bool late_ = false;      // the deadline has passed
    bool cut_ = false;       // the socket is closed
    bool watching_ = false;  // a wait for what the peer does is under way
    bool counted_ = false;   // among the requests that are being answered
};

}  // namespace pawl::http
