// The keys and values of a lease as they lie in etcd: text that etcdctl shows
// (docs/stores/etcd.md).
#pragma once

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::etcd {

// The layout that this pawl reads and writes; the marker and every value begin with it.
constexpr int layout_version = 1;

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
    std::string pause;      // exists while the key is held by nobody
    std::string record;     // who held it last; goes after the retention
    std::string done;       // the last occurrence that is done; goes with the record
    std::string withdrawn;  // claims that were given up
    std::string fence;      // the highest token that a resource accepted
    std::string keep;       // which etcd lease the records are attached to at present
};

// The namespace's marker. Tokens are `born` plus etcd's revision: revisions begin again at 1 in a
// cluster that lost its data, and then there is another marker, born later.
struct marker_text {
    std::int64_t born = 0;      // Unix microseconds
    std::uint64_t cluster = 0;  // the cluster that it was made in: a restored backup is another
};
std::string encode(const marker_text& value);
// Empty when it is none of ours.
std::optional<marker_text> parse_marker(std::string_view text);
// True for the marker of a pawl that is newer than this.
bool is_newer_layout(std::string_view text);

// What holds a key. A token of 0 is that of the revision in which the value was created.
struct lock_text {
    std::string id;  // of the claim
    fence_token token{};
    std::int64_t acquired = 0;  // Unix milliseconds
    std::string owner;
};
std::string encode(const lock_text& value);
std::optional<lock_text> parse_lock(std::string_view text);

// What is known of a key that was held. A token of 0 is that of the revision in which the value was
// written, and then the lease may lapse and be carried on; an ended one names its token.
struct record_text {
    enum class state { granted, ended, evicted };
    state how = state::granted;
    fence_token token{};
    std::int64_t acquired = 0;
    std::string owner;
};
std::string encode(const record_text& value);
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
