// How one claim becomes a lock, or does not: rules 16 and 17 as a machine without I/O. It is handed
// what the nodes answer, in any order and as late as they like, and says what to tell them.
//
// First every node is asked for a promise. With promises of a majority the token of the lock is the
// highest of theirs, and is written back to every node that promised, also to those that answer
// later. The lock is acquired when a majority has confirmed. Whatever else comes of it, promises
// that are not needed are given back.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pawl::redlock {

// What one node answers to a claim.
struct promised {
    fence_token own;  // minted by this node
};
struct held_already {
    fence_token token;  // of this very claim, and confirmed
};
struct turned_down {
    busy_reason reason = busy_reason::held;
    millis remaining{};
    fence_token last{};    // the highest that was confirmed or burnt there
    fence_token holder{};  // 0: none, or one that was only promised the key
    std::string id;        // of the claim that it is held for
    std::string owner;
};
using vote = std::variant<promised, held_already, turned_down, already_done, failure>;

// What to tell a node next.
struct order {
    enum class kind {
        confirm,  // the token of the lock, to one that promised `own`
        undo,     // the promise is not needed
        forget    // the same for a node that may not have heard the claim yet, and still may
    } what;
    std::size_t node;
    fence_token own;
};

class majority_claim {
public:
    majority_claim(std::size_t nodes, std::size_t majority);

    // Each once for each node, then confirmed() once for each order to confirm. Orders that follow
    // are appended.
    void voted(std::size_t node, vote answer, std::vector<order>& orders);
    void confirmed(std::size_t node, result<bool> agreed, std::vector<order>& orders);
    // No caller waits for the outcome any more. The claimer will withdraw or repeat the claim.
    void abandon(std::vector<order>& orders);

    struct won {
        fence_token token;
    };
    // No claim has a majority, as far as this claim can see: it is worth asking again, after a
    // pause of random length.
    struct split {
        busy meanwhile;
    };
    using outcome = std::variant<won, split, busy, already_done, failure>;
    const std::optional<outcome>& result_so_far() const noexcept { return outcome_; }
    // The token of the lock, once a majority has promised.
    fence_token token() const noexcept { return token_; }

private:
    enum class stage { asked, confirming, agreed, rejected, unknown, out };
    struct member_state {
        stage at = stage::asked;
        std::optional<vote> answer;
    };

    bool is_candidate(const member_state& one) const;
    std::size_t count(stage at) const;
    void confirm_from(std::size_t node, std::vector<order>& orders);
    void consider_promises(std::vector<order>& orders);
    void consider_confirmations(std::vector<order>& orders);
    void give_up(outcome why, std::vector<order>& orders);
    outcome explain_defeat() const;
    std::optional<busy> who_holds_it() const;
    std::optional<busy> who_is_ahead() const;
    millis until_majority_may_be_free(const turned_down* newest = nullptr) const;
    failure too_few() const;

    const std::size_t majority_;
    std::vector<member_state> members_;
    fence_token token_{};
    bool over_ = false;  // lost or abandoned: promises are not needed
    std::optional<outcome> outcome_;
};

// One line out of several nodes' failures: each in its own words, then how many are needed. `code`
// is for when no permanent reason stands in the way.
failure explain_minority(const std::vector<failure>& failures, std::size_t answered,
                         std::size_t nodes, errc code);

}  // namespace pawl::redlock
