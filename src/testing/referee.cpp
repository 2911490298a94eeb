#include <pawl/testing.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace pawl::testing {

class referee::state {
public:
    void begin(const std::string& key, fence_token token, bool valid) {
        const std::lock_guard lock{mutex_};
        auto& known = keys_[key];
        const auto what =
            "work under '" + key + "' with token " + std::to_string(number(token)) + " begins ";
        if (known.under_way > 0) note(what + "while other work under this key is going on");
        if (!valid) note(what + "under a lease that is not valid");
        if (token < known.highest)
            note(what + "after work with token " + std::to_string(number(known.highest)));
        known.highest = std::max(known.highest, token);
        ++known.under_way;
    }

    void end(const std::string& key) {
        const std::lock_guard lock{mutex_};
        --keys_[key].under_way;
    }

    std::vector<std::string> faults() const {
        const std::lock_guard lock{mutex_};
        return faults_;
    }

private:
    struct known_key {
        int under_way = 0;
        fence_token highest{};
    };

    // The caller holds mutex_.
    void note(std::string fault) {
        if (faults_.size() < faults_max) faults_.push_back(std::move(fault));
    }

    mutable std::mutex mutex_;
    std::map<std::string, known_key> keys_;  // under mutex_
    std::vector<std::string> faults_;        // under mutex_
};

referee::referee() : state_{std::make_unique<state>()} {}
referee::~referee() = default;

referee::work::work(referee& at, std::string key) : at_{&at}, key_{std::move(key)} {}
referee::work::work(work&& other) noexcept
    : at_{std::exchange(other.at_, nullptr)}, key_{std::move(other.key_)} {}
referee::work::~work() {
    if (at_ != nullptr) at_->state_->end(key_);
}

referee::work referee::begin(const lease& under) {
    state_->begin(under.key(), under.token(), under.valid());
    return {*this, under.key()};
}

referee::work referee::begin(std::string_view key, fence_token under) {
    state_->begin(std::string{key}, under, true);
    return {*this, std::string{key}};
}

std::vector<std::string> referee::faults() const { return state_->faults(); }

void referee::check() const {
    const auto seen = faults();
    if (!seen.empty()) throw std::logic_error{seen.front()};
}

}  // namespace pawl::testing
