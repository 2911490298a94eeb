// hiredis as it comes: one blocking connection, the same scripts as the store sends.
#pragma once

#include "engines/redis/store/scripts.hpp"

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::benchmarks {

class bare_redis {
public:
    explicit bare_redis(std::uint16_t port);

    struct free_reply {
        void operator()(redisReply* reply) const { freeReplyObject(reply); }
    };
    using reply = std::unique_ptr<redisReply, free_reply>;

    reply ask(const std::vector<std::string>& words);
    void send(const std::vector<std::string>& words);
    // Hands over what was sent, without waiting for an answer.
    void flush();
    reply receive();

    // The fenced pair: the store's own scripts.
    std::vector<std::string> acquire_words(const std::string& key, const std::string& id) const;
    std::vector<std::string> release_words(const std::string& key, std::int64_t token) const;
    void fenced_pair(const std::string& key);
    // The unfenced pair: SET NX PX, and compare-and-delete.
    void unfenced_pair(const std::string& key);

private:
    struct close {
        void operator()(redisContext* context) const { redisFree(context); }
    };
    std::unique_ptr<redisContext, close> context_;
    std::string compare_and_delete_;  // its digest
};

}  // namespace pawl::benchmarks
