// Leases over HTTP, by as little of a client as does it: so that the server is measured.
//
//   http_leases PORT TOKEN CONNECTIONS SECONDS             acquires and releases a key on each
//   connection http_leases PORT TOKEN CONNECTIONS SECONDS GET PATH    asks for the path instead
//
// Each connection asks again as soon as it has its answer. Prints how many rounds a second they
// made together, and what one of them took, as a JSON document.
#include <pawl/clock.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using pawl::instant;
using pawl::lease_clock;

std::system_error failed(const char* what) {
    return std::system_error{errno, std::generic_category(), what};
}

// What it asks for: `again` once a round, and after an acquire the release of what was granted.
struct requests {
    std::string fields;  // of each request, before its end
    std::string method, path, body;
    bool releases;

    std::string text(std::string_view verb, std::string_view where,
                     std::string_view content) const {
        std::string made;
        made.append(verb).append(" ").append(where).append(" HTTP/1.1\r\n").append(fields);
        made.append("Content-Length: ").append(std::to_string(content.size()));
        return made.append("\r\n\r\n").append(content);
    }
};

class connection {
public:
    connection(std::uint16_t port, const requests& asked, int number)
        : asked_{&asked}, socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            throw failed("connect");
        auto body = asked.body;
        if (const auto at = body.find('#'); at != std::string::npos)
            body.replace(at, 1, std::to_string(number));
        round_ = asked.text(asked.method, asked.path, body);
    }
    ~connection() { ::close(socket_); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    int socket() const { return socket_; }

    void begin() {
        begun_ = lease_clock::now();
        is_releasing_ = false;
        send(round_);
    }

    // Reads what has come. True when that ended a round; the next is not begun.
    bool read(std::vector<double>& micros) {
        std::array<char, 65'536> buffer;
        const auto got = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (got <= 0) throw failed("the server ended the connection");
        answer_.append(buffer.data(), static_cast<std::size_t>(got));
        const auto head = answer_.find("\r\n\r\n");
        if (head == std::string::npos || answer_.size() < head + 4 + content_length(head))
            return false;
        const auto status = answer_.substr(9, 3);
        if (status.front() != '2') throw std::runtime_error{answer_};
        const auto place = is_releasing_ || !asked_->releases ? "" : field("\r\nLocation: ", head);
        answer_.clear();
        if (!place.empty()) {
            is_releasing_ = true;
            send(asked_->text("DELETE", place, ""));
            return false;
        }
        micros.push_back(
            std::chrono::duration<double, std::micro>(lease_clock::now() - begun_).count());
        return true;
    }

private:
    void send(std::string_view text) {
        if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(text.size()))
            throw failed("send");
    }
    std::string field(std::string_view name, std::size_t head) const {
        const auto at = answer_.find(name);
        if (at > head) return {};
        const auto begin = at + name.size();
        return answer_.substr(begin, answer_.find("\r\n", begin) - begin);
    }
    std::size_t content_length(std::size_t head) const {
        const auto text = field("\r\nContent-Length: ", head);
        std::size_t length = 0;
        std::from_chars(text.data(), text.data() + text.size(), length);
        return length;
    }

    const requests* asked_;
    const int socket_;
    std::string round_, answer_;
    instant begun_;
    bool is_releasing_ = false;
};

boost::json::object measure(std::uint16_t port, const requests& asked, int connections,
                            std::chrono::seconds length) {
    const int poller = ::epoll_create1(0);
    std::vector<std::unique_ptr<connection>> all;
    for (int i = 0; i < connections; ++i) {
        auto& made = *all.emplace_back(std::make_unique<connection>(port, asked, i));
        epoll_event event{EPOLLIN, {.ptr = &made}};
        if (::epoll_ctl(poller, EPOLL_CTL_ADD, made.socket(), &event) != 0) throw failed("epoll");
    }
    std::vector<double> micros;
    const auto begun = lease_clock::now();
    for (const auto& one : all) one->begin();
    std::array<epoll_event, 64> ready;
    for (auto left = connections; left > 0;) {
        const int count = ::epoll_wait(poller, ready.data(), static_cast<int>(ready.size()), -1);
        for (int i = 0; i < count; ++i) {
            auto& one = *static_cast<connection*>(ready.at(static_cast<std::size_t>(i)).data.ptr);
            if (!one.read(micros)) continue;
            if (lease_clock::now() < begun + length)
                one.begin();
            else
                --left;
        }
    }
    const std::chrono::duration<double> took = lease_clock::now() - begun;
    ::close(poller);
    std::sort(micros.begin(), micros.end());
    return {{"rounds_per_second", static_cast<double>(micros.size()) / took.count()},
            {"p50_us", micros.at(micros.size() / 2)},
            {"p99_us", micros.at(micros.size() * 99 / 100)}};
}

}  // namespace

int main(int count, char** words) {
    if (count != 5 && !(count == 7 && std::string_view{words[5]} == "GET")) {
        std::cerr << "usage: http_leases PORT TOKEN CONNECTIONS SECONDS [GET PATH]\n";
        return 64;
    }
    try {
        requests asked{"Host: 127.0.0.1:" + std::string{words[1]} + "\r\nAuthorization: Bearer " +
                           words[2] + "\r\nContent-Type: application/json\r\n",
                       "POST", "/api/v1/leases", R"({"key": "bench/#", "ttl_ms": 30000})", true};
        if (count == 7) asked = {asked.fields, "GET", words[6], "", false};
        std::cout << measure(static_cast<std::uint16_t>(std::stoi(words[1])), asked,
                             std::stoi(words[3]), std::chrono::seconds{std::stoi(words[4])})
                  << '\n';
        return 0;
    } catch (const std::exception& fault) {
        std::cerr << "http_leases: " << fault.what() << '\n';
        return 1;
    }
}
