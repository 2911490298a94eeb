// A Lua script, one atomic step at the server, and a call of it.
#pragma once

#include "engines/redis/client/resp.hpp"

#include <pawl/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::redis {

struct script {
    explicit script(std::string_view text);

    std::string_view text;
    std::string digest;  // by which the server knows it: SHA-1 in hexadecimal
};

// The life of a server that a claim is meant for.
struct life {
    std::string_view run_id;
    std::string_view place;  // of its data, lazy or uncertain
};

// One call of a script, in RESP. Keys come before arguments.
class script_call {
public:
    explicit script_call(const script& which, std::size_t keys);

    script_call& add(std::string_view part);
    script_call& add(std::int64_t number);
    script_call& add(std::string_view head, std::string_view tail);

    // Two arguments more, which name the life of the server that the call is meant for, are added
    // when it is sent (rule 7).
    script_call& name_life();
    bool names_life() const noexcept { return names_life_; }
    // So many replicas are to have what the call writes before it counts.
    script_call& confirm_by(std::uint32_t replicas);
    std::uint32_t confirmations() const noexcept { return confirmations_; }
    // What becomes of the call while no connection can be had.
    script_call& while_unconnected(store_down what) {
        unconnected_ = what;
        return *this;
    }
    store_down unconnected() const noexcept { return unconnected_; }

    // EVALSHA is cheap and may be answered NOSCRIPT; EVAL carries the text and always works.
    void append_by_digest(std::string& out, const life* meant = nullptr) const;
    void append_with_text(std::string& out, const life* meant = nullptr) const;

private:
    void append(std::string& out, std::string_view verb, std::string_view body,
                const life* meant) const;

    const script* which_;
    std::string tail_;  // the parts behind the script: number of keys, keys, arguments
    std::size_t parts_ = 1;
    bool names_life_ = false;
    std::uint32_t confirmations_ = 0;
    store_down unconnected_ = store_down::retry;
};

}  // namespace pawl::redis
