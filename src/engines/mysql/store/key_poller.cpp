#include "engines/mysql/store/key_poller.hpp"

#include <algorithm>
#include <set>

namespace pawl::mysql {

millis look_pause(millis age) { return std::clamp(age / 8, look_pause_min, look_pause_max); }

std::vector<std::string> key_poller::round(const std::string& after, std::size_t limit) const {
    std::set<std::string> keys;
    for (const auto* each : waits_)
        if (!each->over.is_set() && each->key > after) keys.insert(each->key);
    std::vector<std::string> next{keys.begin(), keys.end()};
    if (next.size() > limit) next.resize(limit);
    return next;
}

void key_poller::seen(const std::vector<std::string>& keys,
                      const std::map<std::string, fence_token>& holders) {
    for (auto* each : waits_) {
        if (each->over.is_set() || !std::binary_search(keys.begin(), keys.end(), each->key))
            continue;
        const auto found = holders.find(each->key);
        if (found == holders.end() || found->second != each->seen) each->end(std::nullopt);
    }
}

void key_poller::failed(const std::vector<std::string>& keys, const failure& why) {
    for (auto* each : waits_)
        if (!each->over.is_set() && std::binary_search(keys.begin(), keys.end(), each->key))
            each->end(why);
}

millis key_poller::age(instant now) const {
    auto youngest = instant{};
    for (const auto* each : waits_) youngest = std::max(youngest, each->began);
    return std::chrono::floor<millis>(now - youngest);
}

}  // namespace pawl::mysql
