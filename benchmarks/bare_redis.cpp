#include "benchmarks/bare_redis.hpp"

#include <stdexcept>

namespace pawl::benchmarks {
namespace {

constexpr const char* compare_and_delete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 "
    "end";
const std::string claim_id = "0123456789abcdef0123456789abcdef";

std::string digest_of(bare_redis& server, std::string_view text) {
    const auto loaded = server.ask({"SCRIPT", "LOAD", std::string{text}});
    return {loaded->str, loaded->len};
}

}  // namespace

bare_redis::bare_redis(std::uint16_t port) : context_{redisConnect("127.0.0.1", port)} {
    if (!context_ || context_->err != 0) throw std::runtime_error{"hiredis cannot connect"};
    compare_and_delete_ = digest_of(*this, compare_and_delete);
    digest_of(*this, redis::scripts::all().acquire.text);
    digest_of(*this, redis::scripts::all().release.text);
}

void bare_redis::send(const std::vector<std::string>& words) {
    std::vector<const char*> parts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
        parts.push_back(word.data());
        sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(parts.size()), parts.data(),
                           sizes.data());
}

void bare_redis::flush() {
    for (int done = 0; done == 0;)
        if (redisBufferWrite(context_.get(), &done) != REDIS_OK)
            throw std::runtime_error{"hiredis lost its connection"};
}

bare_redis::reply bare_redis::receive() {
    void* raw = nullptr;
    if (redisGetReply(context_.get(), &raw) != REDIS_OK)
        throw std::runtime_error{"hiredis lost its connection"};
    reply got{static_cast<redisReply*>(raw)};
    if (got->type == REDIS_REPLY_ERROR) throw std::runtime_error{got->str};
    return got;
}

bare_redis::reply bare_redis::ask(const std::vector<std::string>& words) {
    send(words);
    return receive();
}

std::vector<std::string> bare_redis::acquire_words(const std::string& key,
                                                   const std::string& id) const {
    return {"EVALSHA", redis::scripts::all().acquire.digest,
            "1",       "pawl:lock:" + key,
            id,        "bench:1:1:bare",
            "30000",   "604830000"};
}

std::vector<std::string> bare_redis::release_words(const std::string& key,
                                                   std::int64_t token) const {
    return {"EVALSHA", redis::scripts::all().release.digest, "1", "pawl:lock:" + key,
            std::to_string(token)};
}

void bare_redis::fenced_pair(const std::string& key) {
    const auto won = ask(acquire_words(key, claim_id));
    if (won->type != REDIS_REPLY_INTEGER) throw std::runtime_error{"the bare acquire was rejected"};
    const auto released = ask(release_words(key, won->integer));
    if (released->integer != 1) throw std::runtime_error{"the bare release was rejected"};
}

void bare_redis::unfenced_pair(const std::string& key) {
    const auto name = "unfenced:" + key;
    ask({"SET", name, claim_id, "NX", "PX", "30000"});
    ask({"EVALSHA", compare_and_delete_, "1", name, claim_id});
}

}  // namespace pawl::benchmarks
