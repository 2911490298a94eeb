// The output of a run that is not recorded yet: taken from the front, added at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace pawl::runs {

// In blocks, so that no byte is moved however much there is, and what is let go of is free again.
class unwritten_output {
public:
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    void append(std::string_view bytes) {
        size_ += bytes.size();
        while (!bytes.empty()) {
            if (blocks_.empty() || blocks_.back().size() >= block_bytes) blocks_.emplace_back();
            const auto part = bytes.substr(0, block_bytes - blocks_.back().size());
            blocks_.back() += part;
            bytes.remove_prefix(part.size());
        }
    }

    std::string front(std::size_t bytes_max) const {
        std::string all;
        all.reserve(std::min(bytes_max, size_));
        auto passed = gone_;
        for (const auto& block : blocks_) {
            all += std::string_view{block}.substr(passed, bytes_max - all.size());
            if (all.size() == bytes_max) break;
            passed = 0;
        }
        return all;
    }

    // REQUIRES: there are so many.
    void let_go(std::size_t bytes) {
        size_ -= bytes;
        gone_ += bytes;
        while (!blocks_.empty() && gone_ >= blocks_.front().size()) {
            gone_ -= blocks_.front().size();
            blocks_.pop_front();
        }
    }

private:
    static constexpr std::size_t block_bytes = std::size_t{64} * 1024;

    std::deque<std::string> blocks_;
    std::size_t gone_ = 0;  // at the front of the first
    std::size_t size_ = 0;
};

}  // namespace pawl::runs
