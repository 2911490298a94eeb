// The sessions of one store and the namespace in the tree that they all work in.
#pragma once

#include "engines/zookeeper/client/session.hpp"
#include "engines/zookeeper/store/lease_record.hpp"
#include "engines/zookeeper/store/znode_names.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::zookeeper {

// What is known of one key at one moment.
struct view {
    bool exists = false;  // there is a record
    int version = 0;      // of it
    std::string origin;   // the child that only this record has; empty: none was seen
    lease_record record;
    bool alive = false;  // there is the lease that the record names
    millis ttl{};
    std::int64_t renewed = 0;       // when it began or was last renewed, on the leader's clock
    std::int64_t renewed_zxid = 0;  // tells one renewal from another
    std::int64_t owner = 0;         // its session
    int lease_version = 0;
    bool overdue = false;  // not renewed for longer than its holder trusts it: to be removed
};

// Used on its loop only.
class ensemble {
public:
    ensemble(net::loop& where, std::shared_ptr<const zookeeper_settings> settings);
    // From any thread.
    ~ensemble();

    const layout& paths() const noexcept { return paths_; }
    const std::string& place() const noexcept { return place_; }

    // The one of ours with that id, or null.
    std::shared_ptr<session> session_with(std::int64_t id) const;
    // A session that stands and can carry such a lease, or, where the server grants none, the
    // longest that it grants.
    async<std::shared_ptr<session>> session_for(millis ttl, instant until,
                                                store_down unconnected = store_down::retry);
    // Any that stands.
    async<std::shared_ptr<session>> any_session(instant until);

    write_stamp stamp_of(const node_stat& stat) const {
        return {token_at(stat.modified_zxid), stat.modified};
    }
    // Tokens of layout 1 were no higher.
    fence_token floor() const noexcept { return floor_; }
    // Since when the data has been whole: Unix milliseconds on the leader's clock.
    std::int64_t born() const noexcept { return born_; }
    // Changes whenever what was read before may not be true any more.
    std::uint64_t generation() const noexcept { return generation_; }

    // The leader's clock, read by a write. The estimate is as good as the last write's answer was
    // quick; it is for what people read and for hints.
    async<std::int64_t> read_clock(session& through, instant until);
    std::int64_t estimate_clock() const;
    bool has_clock() const noexcept { return clock_ != 0; }
    void note_clock(const node_stat& written);

    // As this server has it; or, after a sync, not older than when it was asked.
    enum class freshness { as_it_is, synced };
    async<view> look(session& through, const std::string& key, freshness how, instant until);
    result<view> understand(const std::string& key, const answer& record) const;
    static void add_lease(view& seen, const answer& lease);
    std::string lease_path(const std::string& key, const view& seen) const {
        return paths_.record_of(key) + "/" + seen.record.lease;
    }

    // Makes the bucket that the path lies in.
    async<bool> make_parent(session& through, const std::string& path, instant until);

private:
    std::shared_ptr<session> find(millis least);
    async<std::shared_ptr<session>> prepared(std::shared_ptr<session> one, instant until,
                                             store_down unconnected = store_down::retry);
    async<bool> prepare(session& through, instant until);
    async<bool> create_root(session& through, instant until);
    async<bool> has_gone_back(session& through, instant until);
    // Of layout 1: the zxid of the write that granted, counted on from the namespace's creation.
    fence_token token_at(std::int64_t zxid) const {
        return fence_token{static_cast<std::uint64_t>(created_ * 1000 + (zxid - created_zxid_))};
    }

    net::loop& loop_;
    const std::shared_ptr<const zookeeper_settings> settings_;
    const std::string place_;
    const layout paths_;
    std::vector<std::shared_ptr<session>> sessions_;
    std::vector<std::weak_ptr<session>> prepared_;
    std::int64_t created_ = 0;
    std::int64_t created_zxid_ = 0;
    std::int64_t born_ = 0;
    fence_token floor_{};
    std::int64_t newest_zxid_ = 0;  // of our own writes
    std::uint64_t generation_ = 0;
    std::int64_t clock_ = 0;
    instant clock_read_{};
};

}  // namespace pawl::zookeeper
