// A file descriptor that somebody owns.
#pragma once

#include <unistd.h>

#include <utility>

namespace pawl::exec {

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
    void close() noexcept {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

}  // namespace pawl::exec
