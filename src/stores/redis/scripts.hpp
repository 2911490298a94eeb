// The Lua scripts of the store, each one atomic step at the server, and calls to them.
#pragma once

#include "stores/redis/resp.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::redis {

struct script {
    explicit script(std::string_view text);

    std::string_view text;
    std::string digest;  // by which the server knows it: SHA-1 in hexadecimal
};

// Computed once for the process.
struct scripts {
    static const scripts& all();

    script acquire, withdraw, renew, release, evict, inspect, list, watch, fence;

private:
    scripts();
};

// One call of a script, in RESP. Keys come before arguments.
class script_call {
public:
    explicit script_call(const script& which, std::size_t keys);

    script_call& add(std::string_view part);
    script_call& add(std::int64_t number);
    script_call& add(std::string_view head, std::string_view tail);

    // EVALSHA is cheap and may be answered NOSCRIPT; EVAL carries the text and always works.
    void append_by_digest(std::string& out) const;
    void append_with_text(std::string& out) const;

private:
    void append(std::string& out, std::string_view verb, std::string_view body) const;

    const script* which_;
    std::string tail_;  // the parts behind the script: number of keys, keys, arguments
    std::size_t parts_ = 1;
};

}  // namespace pawl::redis
