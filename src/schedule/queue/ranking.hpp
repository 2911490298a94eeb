// Which node asks the store first for an occurrence, and how long the others leave it to that one:
// a function of the nodes that the registry names, the same on all that have read the same list.
//
// A machine without I/O. A hint, never the truth: the store decides who is granted the key, and a
// list that is stale or wrong costs a moment or a few requests.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::schedule {

// Beyond this place all are alike: the first four cannot be expected to be away together.
constexpr std::size_t places_max = 5;
// A node looks at the keys that it has left to others at instants so far apart, so that one request
// answers for all that came due together.
constexpr millis look_interval{200};
// Longer than an acquire takes. With look_interval the second in line waits for at most 300 ms.
constexpr millis hold_back_first{100};
constexpr millis hold_back_step{200};
// Where the next occurrence is far away, the last in line look more seldom.
constexpr millis hold_back_far{3'000};
constexpr millis far_look_interval{2'000};

struct ranked_node {
    std::string id;  // the owner of its leases
    std::uint32_t running = 0;
    std::uint32_t running_max = 0;
};

// How much of the work a node is to be first in line for. Coarse, as nodes have to agree about it:
// each change of a weight is known to some of them before it is to others.
double weight_of(const ranked_node& node) noexcept;

// Used by one thread at a time.
class node_ranking {
public:
    explicit node_ranking(std::string_view me);

    // What the registry names now. This node counts as one of them whatever it says.
    void follow(const std::vector<ranked_node>& nodes);
    // Otherwise no node would ask if this node did not.
    bool knows_others() const noexcept { return now_.others > 0; }

    // How many nodes ask for the occurrence before this one, up to places_max. The better place by
    // the present list and the one before it: between two readings of the list some nodes go by the
    // old and some by the new, and two that ask are better than none.
    std::size_t place(std::string_view key, occurrence which) const;

private:
    struct weighted {
        double weight = 0;
        std::vector<std::uint64_t> hashes;
    };
    struct list {
        std::vector<weighted> classes;  // of the other nodes
        std::size_t others = 0;
        double own_weight = 1;
    };
    std::size_t place_in(const list& nodes, std::uint64_t what) const;

    std::string me_;
    std::uint64_t own_hash_;
    list now_, before_;
};

// For an occurrence all nodes draw the same number, from 0 to 1: for a delay that is to be random
// among occurrences, and not to be the least of as many draws as there are nodes.
double shared_uniform(std::string_view key, occurrence which) noexcept;

// For how long a node at this place leaves an occurrence to those before it, where the next one
// comes due after `interval`.
millis hold_back_of(std::size_t place, millis interval) noexcept;

// The instant of the grid, `step` apart and shifted by `phase`, that is not before `at`.
instant aligned(instant at, millis step, millis phase) noexcept;

}  // namespace pawl::schedule
