// The leases that this process holds, and when those that are not renewed are deleted.
//
// A session lives as long as its process, and would carry a lease that is not renewed for ever. So
// every lease has its end recorded here, before it is requested, and is deleted when that has come.
#pragma once

#include "engines/zookeeper/client/session.hpp"
#include "engines/zookeeper/store/lease_record.hpp"
#include "net/boot_timer.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace pawl::zookeeper {

// When a lease is to be deleted. Shared by all who renew it at the moment.
struct lease_end {
    std::shared_ptr<session> where;
    std::string key;
    std::string path;  // of the ephemeral znode
    instant until;
    std::multimap<instant, std::shared_ptr<lease_end>>::iterator place;
    bool in_line = true;
    bool cancelled = false;  // nothing is to be deleted any more
    int renewals = 0;        // on their way
};

struct own_lease {
    std::shared_ptr<lease_end> end;
    lease_record record;
    int version = 0;     // of the record, as we wrote or saw it last
    std::string origin;  // of the record
    instant acquired{};

    const std::shared_ptr<session>& where() const { return end->where; }
    const std::string& path() const { return end->path; }
    instant until() const { return end->until; }
};

// Used on its loop only.
class expiry_schedule : public net::attached, public std::enable_shared_from_this<expiry_schedule> {
public:
    static std::shared_ptr<expiry_schedule> make(net::loop& where, millis timeout);
    // Use make().
    expiry_schedule(net::loop& where, millis timeout);

    // A lease that may come to be: it is deleted at `until` unless that is moved or cancelled.
    std::shared_ptr<lease_end> add(const std::shared_ptr<session>& where, const std::string& key,
                                   const std::string& path, instant until);
    void move(lease_end& what, instant until);
    void cancel(const std::shared_ptr<lease_end>& what);
    void cancel(const std::string& path);
    // The end of that lease, if it is recorded here.
    std::shared_ptr<lease_end> end_of(const std::string& path) const;
    // Its time is up, though it may still be there.
    bool has_expired(const std::string& path) const;

    // While a renewal is on its way its lease is not deleted: the answer may be yes.
    class renewing {
    public:
        explicit renewing(std::shared_ptr<lease_end> what) : what_{std::move(what)} {
            ++what_->renewals;
        }
        ~renewing() {
            if (what_) --what_->renewals;
        }
        renewing(renewing&&) noexcept = default;
        renewing& operator=(renewing&& other) noexcept {
            std::swap(what_, other.what_);
            return *this;
        }

    private:
        std::shared_ptr<lease_end> what_;
    };

    // The one of this key that this process holds, or held until just now.
    own_lease* find(const std::string& key);
    void hold(const std::string& key, own_lease what);
    void forget(const std::string& key);

    // Thread-safe.
    void close_from_anywhere();

private:
    void arm();
    static boost::asio::awaitable<void> watch_time(std::shared_ptr<expiry_schedule> self);
    void end_leases(instant now);
    static boost::asio::awaitable<void> remove(std::shared_ptr<expiry_schedule> self,
                                               std::shared_ptr<lease_end> what);
    void loop_ends() override;

    // Constant after construction
    const net::loop::executor_type executor_;
    const millis timeout_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::unordered_map<std::string, own_lease> held_;                   // by key
    std::unordered_map<std::string, std::shared_ptr<lease_end>> ends_;  // by path
    std::multimap<instant, std::shared_ptr<lease_end>> line_;
    std::optional<net::boot_timer> timer_;
    bool timing_ = false;
    bool closed_ = false;
};

}  // namespace pawl::zookeeper
