// Which of the processes that want a key have had it less recently than this one: they come first
// (docs/library.md, "Waiting").
//
// It knows of others what rejected claims told, and no more: another process is known once it has
// been seen to have the key, and no longer when it has let its turn pass again and again.
#pragma once

#include <pawl/types.hpp>

#include <cstddef>
#include <vector>

namespace pawl::leasing {

// Used by one thread at a time.
class turn_order {
public:
    // Another process has the key, under this token. Seen again under the same, it is no new turn.
    // True: of that process nothing was known.
    bool seen(std::size_t owner, fence_token under);
    // This process has it.
    void mine() { take_turn(me); }

    // How many come before this process; none where it has not had the key.
    std::size_t before_me() const;
    bool has_had_it() const;

private:
    static constexpr std::size_t me = 0;
    static constexpr std::size_t known_max = 64;
    // How often one may be overtaken and still be waited for: a slow process is late at times, and
    // one that has gone costs the others a moment in each turn.
    static constexpr int passed_max = 32;

    struct contender {
        std::size_t owner;
        int passed;  // turns of others that came after it in the order
    };

    std::vector<contender>::const_iterator my_place() const;
    // True: it is new.
    bool take_turn(std::size_t owner);

    std::vector<contender> order_;  // the one that had the key least recently first
    fence_token last_{};
};

}  // namespace pawl::leasing
