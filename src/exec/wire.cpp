#include "exec/wire.hpp"

#include "base/ensure.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace pawl::exec {
namespace {

constexpr std::size_t control_bytes = CMSG_SPACE(descriptors_max * sizeof(int));

void take_descriptors(msghdr& header, std::span<descriptor> descriptors) {
    std::size_t taken = 0;
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t at = 0; at < count; ++at) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + at * sizeof number, sizeof number);
            descriptor owned{number};
            if (taken < descriptors.size()) descriptors[taken++] = std::move(owned);
        }
    }
}

}  // namespace

std::pair<descriptor, descriptor> socket_pair() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
    return {descriptor{ends[0]}, descriptor{ends[1]}};
}

delivery_result send_bytes(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors) {
    base::ensure(descriptors.size() <= descriptors_max);
    alignas(cmsghdr) char control[control_bytes] = {};
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
    }
    for (;;) {
        if (sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
            return delivery_result::sent;
        }
        switch (errno) {
            case EINTR:
                continue;
            case EAGAIN:
            case ENOBUFS:
            case ENOMEM:
                return delivery_result::full;
            case EPIPE:
            case ECONNRESET:
                return delivery_result::closed;
            default:
                return delivery_result::failed;
        }
    }
}

arrival receive_bytes(int socket, std::span<std::byte> bytes, std::span<descriptor> descriptors) {
    alignas(cmsghdr) char control[control_bytes] = {};
    iovec piece{bytes.data(), bytes.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    for (;;) {
        const ssize_t got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        // A peer that ends with a message of ours unread resets the connection. The kernel says so
        // once, ahead of what the peer has sent, which is still there: how a command ended.
        if (got < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
        if (got < 0 && errno == EAGAIN) return arrival::nothing;
        // Anything else, a message of another size included, is no peer that we could talk to.
        if (got <= 0) return arrival::closed;
        take_descriptors(header, descriptors);
        return static_cast<std::size_t>(got) == bytes.size() ? arrival::message : arrival::closed;
    }
}

descriptor memory_file(const std::string& text) {
    descriptor file{memfd_create("pawl-command", MFD_CLOEXEC)};
    if (!file.is_open()) return {};
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return {};
        done += static_cast<std::size_t>(wrote);
    }
    return file;
}

std::optional<std::string> read_memory_file(int file) {
    struct stat facts{};
    if (fstat(file, &facts) != 0 || facts.st_size < 0) return {};
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size > command_bytes_max) return {};
    std::string text(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(file, text.data() + done, size - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return {};
        done += static_cast<std::size_t>(got);
    }
    return text;
}

}  // namespace pawl::exec
