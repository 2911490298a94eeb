// Shares partitions fairly with other members: which to claim, which to give up, when to look again
// at who is there.
//
// A machine without I/O: it is handed instants and what became of what it asked for, and says what
// to do next. It makes no partition safe: only the lease of a partition says who holds it. What it
// sees to is that every partition is wanted by a member that is there, that all members want
// different ones, and that no member is disturbed more than needed.
#pragma once

#include "lease/election.hpp"

#include <pawl/partition.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::leasing {

// Constant for one member.
struct sharing_plan {
    std::string name{};
    std::uint32_t count = 0;
    nanos interval{};       // between two looks, at most
    nanos rest{};           // before a partition whose body returned by itself is claimed again
    std::uint32_t moves{};  // partitions given up at one look, at most
};
// REQUIRES: validate(), leadership_fault() and partition_fault() had nothing to say.
sharing_plan sharing_plan_of(std::string_view name, std::uint32_t count,
                             const partition_options& options);

// Live members of one name at most; one that comes later stands by until there is a free member
// number.
constexpr std::uint32_t members_max = 1000;

// How many intervals after the last one came or went every member holds its fair share, if no body
// takes long to stop: one for a claim to end, two until a newcomer is believed, sixteen for the
// moves, one to spare.
constexpr int intervals_to_converge = 20;

// A live member, as the store shows it.
struct member {
    std::uint32_t count = 0;  // into how many partitions it cuts the work
    std::uint32_t member_number = 0;
    std::int64_t since = 0;  // its lease's acquired_at
};

// The text of a member in its key NAME/members/TEXT, and back. It has a dash, so that it never is
// the key of a partition of another share.
std::string member_text(std::uint32_t count, std::uint32_t member_number);
std::optional<member> parse_member(std::string_view text);

// Used by one thread at a time.
class sharing {
public:
    sharing(sharing_plan plan, instant now);

    enum class act {
        look,      // who is there; then looked() or look_failed()
        announce,  // claim the member number `which`, without waiting; then announced(),
                   // number_taken() or announce_failed()
        claim,     // the partition `which`, for as long as it takes; then granted() or unclaimed()
        call_off,  // the claim of `which`, which then still ends as it ends
        give_up,  // tell the body of `which` to stop; ended() when it has and the lease is released
        leave,    // release the member number; then left()
        wait,     // until `until`, or until something is heard
        over      // fault() is why, if it was not called off
    };
    struct step {
        act what;
        std::uint32_t which;
        instant until;
    };
    // Every step but `wait` and `over` counts as begun once it is returned.
    step next(instant now);

    void looked(const std::vector<member>& present, instant now, double uniform);
    void look_failed(const failure& why, instant now, double uniform);
    void announced(instant now);
    void number_taken(instant now);
    void announce_failed(const failure& why, instant now, double uniform);
    // The lease of the member number is lost.
    void forgotten(instant now);
    void granted(std::uint32_t which);
    // Nothing: called off, or the wait was over.
    void unclaimed(std::uint32_t which, const std::optional<failure>& why, instant now,
                   double uniform);
    void ended(std::uint32_t which, term_end how, instant now, double uniform);
    void left();
    // Everything is given up: the member number, then the partitions; the member number last where
    // others cut the work otherwise.
    void call_off();

    bool is_present() const { return standing_ == standing::present; }
    // Whether there are members who cut the work otherwise and have been here longer.
    bool held_back() const { return held_back_; }
    bool wants(std::uint32_t which) const { return parts_[which].mine; }
    const std::optional<failure>& fault() const { return fault_; }

private:
    enum class standing { absent, wanting, announcing, present, leaving, gone };
    enum class part_status { away, claiming, calling_off, held, leaving };
    struct part {
        part_status status = part_status::away;
        bool mine = false;
        bool to_go = false;    // held, and to be given up now
        int looks_astray = 0;  // how many looks in a row said that it is another member's
        instant not_before{};  // to be claimed
    };

    std::optional<step> next_of_ending();
    std::optional<step> next_of_parts(instant now);
    bool take_number();
    void deliberate();
    void choose_moves();
    void look_again(instant now, double uniform);
    void note(const failure& why);

    // Constant after construction
    sharing_plan plan_;
    // State
    standing standing_ = standing::absent;
    std::optional<std::uint32_t> member_number_;  // ours, or that we had last
    int numbers_tried_ = 0;                       // since the last look
    std::vector<std::uint32_t> others_;           // member numbers of our kind, sorted
    std::vector<std::uint32_t> agreed_;           // the members that `mine` was worked out from
    std::vector<part> parts_;
    instant look_at_;
    bool looking_ = false;
    bool held_back_ = false;
    bool cut_otherwise_ = false;  // others, when it was last seen
    bool called_off_ = false;
    bool answered_ = false;
    int failures_ = 0;
    std::optional<failure> fault_;
};

}  // namespace pawl::leasing
