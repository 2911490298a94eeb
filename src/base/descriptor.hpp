// A file descriptor that is owned.
#pragma once

#include <unistd.h>

#include <utility>

namespace pawl::base {

class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int number) noexcept : number_{number} {}
    descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() { close(); }

    int get() const noexcept { return number_; }
    int release() noexcept { return std::exchange(number_, -1); }
    bool is_open() const noexcept { return number_ >= 0; }
    explicit operator bool() const noexcept { return is_open(); }
    void close() noexcept {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

}  // namespace pawl::base
