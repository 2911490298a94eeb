// Names that are unique without coordination: claim ids, run ids, and the owner that people read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace pawl::base {

// 128 random bits from the system's generator as 32 hexadecimal digits. Aborts without entropy.
std::string fresh_id();

// For a generator of chance that need not be secret; from the system's, without asking the
// processor what it has, which under a hypervisor takes longer than the answer.
std::uint32_t fresh_seed();

// Fresh ids by the thousand, at a fraction of the price: the generator is asked for many at a time.
// Used by one thread at a time, and never on both sides of a fork.
class id_source {
public:
    id_source() = default;
    // Those of a simulation, which are the same for the same seed.
    explicit id_source(std::uint64_t seed) : simulated_{std::in_place, seed} {}

    std::string next();
    // The same bits in the form of a UUID, version 4 (RFC 9562).
    std::string next_uuid();

private:
    std::array<unsigned char, 16> take();

    std::optional<std::mt19937_64> simulated_;
    std::array<unsigned char, 4096> bytes_{};
    std::size_t used_ = bytes_.size();
};

// The same in the form of a UUID, version 4 (RFC 9562).
std::string fresh_uuid();

// host:pid:start:nonce, for people: R36. `start` is a Unix second, the nonce tells threads apart.
std::string owner_name(std::string_view host, std::int64_t pid, std::int64_t start,
                       std::string_view nonce);

}  // namespace pawl::base
