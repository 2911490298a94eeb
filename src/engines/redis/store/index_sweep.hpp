// An index of keys does not grow for ever: behind one grant in 64 a client looks at some of its
// names, and those whose records have expired go.
#pragma once

#include "engines/redis/client/pipeline.hpp"
#include "engines/redis/client/script.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::redis {

// Of one index, on one loop.
class index_sweep {
public:
    index_sweep();

    // A key was granted: what to ask now, if anything. It ends with `ended`.
    std::optional<script_call> granted(std::string_view index, std::string_view lock_prefix,
                                       std::string_view key);
    // What failed is looked at the next time.
    void ended(const answer& got);

private:
    std::uint32_t grants_;
    bool under_way_ = false;
    bool begun_ = false;
    std::string behind_;
};

}  // namespace pawl::redis
