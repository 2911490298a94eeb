// What processes of one program tell each other.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <stdexcept>

namespace pawl::benchmarks {

// Of messages of one type, as long as a pipe takes at once. Made before the processes that use it.
class channel {
public:
    channel() {
        if (pipe(ends_) != 0) throw std::runtime_error{"cannot make a pipe"};
    }
    ~channel() {
        close(ends_[0]);
        close(ends_[1]);
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    template <class T>
    void send(const T& what) const {
        if (write(ends_[1], &what, sizeof what) != sizeof what) _exit(1);
    }
    template <class T>
    T receive() const {
        T what{};
        if (read(ends_[0], &what, sizeof what) != sizeof what)
            throw std::runtime_error{"a process is gone"};
        return what;
    }

private:
    int ends_[2]{};
};

}  // namespace pawl::benchmarks
