// The leases that this process holds, and the end of those that are not renewed.
//
// A session lives as long as its process, and would carry a lease that nobody renews for ever. So
// every lease has its end written down here, before it is asked for, and is deleted when that has
// come.
#pragma once

#include "net/boot_timer.hpp"
#include "stores/zookeeper/lease_record.hpp"
#include "stores/zookeeper/session.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace pawl::zookeeper {

struct holding {
    std::shared_ptr<session> where;
    std::string path;  // of the ephemeral znode
    lease_record record;
    int version = 0;  // of the record, as this lease was granted
    millis ttl{};     // as written
    instant acquired{};
    instant until{};
};

// Used on its loop only.
class lease_book : public net::attached, public std::enable_shared_from_this<lease_book> {
public:
    static std::shared_ptr<lease_book> make(net::loop& where, millis patience);
    // Use make().
    lease_book(net::loop& where, millis patience);

    // A lease that may come to be: it is deleted at `until` unless that is moved or struck.
    void expect(const std::shared_ptr<session>& where, const std::string& key,
                const std::string& path, instant until);
    void move(const std::string& path, instant until);
    void strike(const std::string& path);
    // Its time is up, though it may still be there.
    bool is_over(const std::string& path) const;

    // While a renewal is on its way its lease is not deleted: the answer may be yes.
    class renewing {
    public:
        renewing(lease_book& book, std::string path) : book_{book}, path_{std::move(path)} {
            book_.count(path_, 1);
        }
        ~renewing() { book_.count(path_, -1); }
        renewing(const renewing&) = delete;
        renewing& operator=(const renewing&) = delete;

    private:
        lease_book& book_;
        std::string path_;
    };

    // The one of this key that this process holds, or held until just now.
    holding* find(const std::string& key);
    void hold(const std::string& key, holding what);
    void forget(const std::string& key);

    // Thread-safe.
    void close_from_anywhere();

private:
    struct end {
        std::shared_ptr<session> where;
        std::string key;
        instant until;
        std::multimap<instant, std::string>::iterator place;
        bool in_line = true;
        int renewals = 0;
    };

    void count(const std::string& path, int change);
    void arm();
    static boost::asio::awaitable<void> watch_time(std::shared_ptr<lease_book> self);
    void end_leases(instant now);
    static boost::asio::awaitable<void> remove(std::shared_ptr<lease_book> self,
                                               std::shared_ptr<session> where, std::string path);
    void loop_ends() override;

    // Constant after construction
    const net::loop::executor_type executor_;
    const millis patience_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::unordered_map<std::string, holding> held_;  // by key
    std::unordered_map<std::string, end> ends_;      // by path
    std::multimap<instant, std::string> line_;
    std::optional<net::boot_timer> timer_;
    bool timing_ = false;
    bool closed_ = false;
};

}  // namespace pawl::zookeeper
