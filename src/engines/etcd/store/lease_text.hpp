// The keys and values of a lease as they lie in etcd: text that etcdctl shows
// (docs/stores/etcd.md).
#pragma once

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::etcd {

// The layout that this pawl writes; the marker and every value begin with it. It reads 1 as well,
// where values name no token of their own.
constexpr int layout_version = 2;

// Where everything of a namespace lies.
struct key_names {
    explicit key_names(const std::string& name_space)
        : marker{name_space + "/marker"},
          lock{name_space + "/lock/"},
          pause{name_space + "/pause/"},
          record{name_space + "/record/"},
          done{name_space + "/done/"},
          withdrawn{name_space + "/withdrawn/"},
          fence{name_space + "/fence/"},
          keep{name_space + "/keep/"} {}

    std::string marker;     // since when this data has been whole
    std::string lock;       // exists while the key is held
    std::string pause;      // exists while the key is in cooldown
    std::string record;     // who held it last; goes after the retention
    std::string done;       // the last occurrence that is done; goes with the record
    std::string withdrawn;  // claims that were given up
    std::string fence;      // the highest token that a resource accepted
    std::string keep;       // which etcd lease the records are attached to at present
};

// The namespace's marker: since when its data has been whole. A cluster that lost its data has
// none, and then another is made.
struct marker_text {
    std::int64_t born = 0;      // Unix microseconds, on the clock of a node
    std::uint64_t cluster = 0;  // the cluster that it was made in: a restored backup is another
    std::int64_t proved = 0;    // a node's clock has shown at least this since the birth
    // No token that was granted before is above it. Empty: born plus the marker's revision, which
    // is not known before it is written.
    std::optional<fence_token> floor{};
    int layout = layout_version;

    // Of a value: its own token; one of layout 1 that names none has born plus its revision.
    fence_token token_of(fence_token own, std::int64_t revision) const noexcept {
        if (number(own) != 0) return own;
        return fence_token{static_cast<std::uint64_t>(born + revision)};
    }
};
std::string encode(const marker_text& value);
// What was written in that revision. Empty when it is none of ours.
std::optional<marker_text> parse_marker(std::string_view text, std::int64_t revision);
// True for the marker of a pawl that is newer than this.
bool is_newer_layout(std::string_view text);

// What holds a key. A token of 0, in layout 1 only, is that of the revision that created it.
struct lock_text {
    std::string id;  // of the claim, as encode_id() writes it; empty: none
    fence_token token{};
    std::int64_t acquired = 0;  // Unix milliseconds
    std::string owner;
};
std::string encode(const lock_text& value);
std::optional<lock_text> parse_lock(std::string_view text);

// What is known of a key that was held. A token of 0, in layout 1 only, is that of the revision
// that wrote it. While it is `granted` the lease may expire and be carried on.
struct record_text {
    enum class state { granted, ended, force_released };
    state how = state::granted;
    fence_token token{};
    std::int64_t acquired = 0;
    std::string owner;
    std::string id{};  // of the claim while it is granted, as encode_id() writes it; empty: none
};
std::string encode(const record_text& value);
// Sorts above all records of this layout and the one before whose tokens are lower, and below all
// others: etcd compares them.
std::string bound_of_records(fence_token token);
std::optional<record_text> parse_record(std::string_view text);

// Numbers whose texts sort as they do, so that etcd can compare them.
std::string encode_done(occurrence value);
std::optional<occurrence> parse_done(std::string_view text);
std::string encode_fence(fence_token value);
std::optional<fence_token> parse_fence(std::string_view text);

// A claim id as it may stand in a value and at the end of a key: never empty, no space, no slash.
std::string encode_id(std::string_view id);

// The smallest key above all that start with `prefix`; "\0" for no bound, as etcd understands it.
std::string end_of_prefix(std::string prefix);

}  // namespace pawl::etcd
