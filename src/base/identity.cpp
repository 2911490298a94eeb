#include "base/identity.hpp"

#include "base/ensure.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"

#include <pawl/types.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <span>

namespace pawl::base {
namespace {

constexpr std::size_t id_bytes = 16;

// The kernel's: a library of its own takes longer to set up than a short command has.
void fill_randomly(std::span<unsigned char> bytes) {
    while (!bytes.empty()) {
        const auto got = getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        ensure(got > 0);
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

std::array<unsigned char, id_bytes> random_bytes() {
    std::array<unsigned char, id_bytes> bytes{};
    fill_randomly(bytes);
    return bytes;
}

std::string uuid_of(std::array<unsigned char, id_bytes> bytes) {
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    auto text = to_hex(bytes);
    for (const std::size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
    return text;
}

}  // namespace

std::uint32_t fresh_seed() {
    std::array<unsigned char, sizeof(std::uint32_t)> bytes{};
    fill_randomly(bytes);
    return std::bit_cast<std::uint32_t>(bytes);
}

std::array<unsigned char, 16> id_source::take() {
    if (used_ == bytes_.size()) {
        if (simulated_)
            for (auto& byte : bytes_) byte = static_cast<unsigned char>((*simulated_)());
        else
            fill_randomly(bytes_);
        used_ = 0;
    }
    std::array<unsigned char, id_bytes> taken{};
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(used_), taken.size(), taken.begin());
    used_ += taken.size();
    return taken;
}

std::string id_source::next() { return to_hex(take()); }
std::string id_source::next_uuid() { return uuid_of(take()); }

std::string fresh_id() { return to_hex(random_bytes()); }
std::string fresh_uuid() { return uuid_of(random_bytes()); }

std::string owner_name(std::string_view host, std::int64_t pid, std::int64_t start,
                       std::string_view nonce) {
    const auto tail =
        ":" + std::to_string(pid) + ":" + std::to_string(start) + ":" + std::string{nonce};
    return printable(host.substr(0, owner_bytes_max - tail.size())) + tail;
}

}  // namespace pawl::base
