// The messages between pawl, its launcher and its guards.
//
// Messages have a fixed size, on sockets that keep their bounds (SOCK_SEQPACKET), so that a reader
// needs no buffer and a half-written message does not exist. What has no fixed size, the command,
// travels as a memory file.
#pragma once

#include "exec/command.hpp"
#include "exec/descriptor.hpp"

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace pawl::exec {

// pawl → guard. A start comes first, with four descriptors: the command's file, and its streams.
enum class order_kind : std::uint32_t { start, deadline, signal, stop };

struct order {
    order_kind kind = order_kind::start;
    std::int32_t signal = 0;
    std::int64_t stop_at = 0;  // nanoseconds on the lease clock
    std::int64_t kill_at = 0;
    std::int64_t grace = 0;  // nanoseconds
};

// guard → pawl. `ready`, before the guard can have a command; then `rejected`, or `running`, then
// any number of `paused`, and `ended`; then the guard waits until pawl has hung up. Where there is
// no guard, the launcher says `rejected`. Beside `ready` and `running` travels, where the kernel
// has one, a pidfd of the process.
enum class report_kind : std::uint32_t { ready, running, rejected, paused, ended };

struct report {
    report_kind kind = report_kind::ready;
    std::int32_t pid = 0;     // ready: the guard's. running: the command's
    std::int32_t status = 0;  // ended: as of waitpid. paused: the signal. rejected: errno
    std::uint32_t where = 0;  // rejected: a stage
    std::uint32_t cause = 0;  // ended: an ending
};

constexpr std::size_t descriptors_max = 4;           // beside one message
constexpr std::size_t command_bytes_max = 8u << 20;  // more than execve takes (6 MiB on Linux)

// Two ends of a new socket. Both closed when the system is out of descriptors.
std::pair<descriptor, descriptor> socket_pair();

// `closed`: no process reads there any more. `failed`: errno says why; the peer may be well.
enum class delivery_result { sent, full, closed, failed };

// Never blocks.
delivery_result send_bytes(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors);

enum class arrival { message, nothing, closed };

// Never blocks. Fills as many of `descriptors` as came along, from the front.
arrival receive_bytes(int socket, std::span<std::byte> bytes, std::span<descriptor> descriptors);

template <class Message>
delivery_result send(int socket, const Message& message, std::span<const int> descriptors = {}) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return send_bytes(socket, std::as_bytes(std::span{&message, 1}), descriptors);
}

template <class Message>
arrival receive(int socket, Message& message, std::span<descriptor> descriptors = {}) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return receive_bytes(socket, std::as_writable_bytes(std::span{&message, 1}), descriptors);
}

// A memory file with this text. Closed when the system rejects.
descriptor memory_file(const std::string& text);
// Nothing when it cannot be read or is longer than a command may be.
std::optional<std::string> read_memory_file(int file);

}  // namespace pawl::exec
