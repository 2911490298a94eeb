// What an acquire answers: what it acquired, or nothing.
#pragma once

#include <optional>
#include <stdexcept>
#include <utility>

namespace pawl {

// What was acquired, or nothing. Used as std::optional is, no more thread-safe than one, and
// converts to one. The difference: a temporary cannot be tested.
// `if (locks.try_acquire(key, options)) work();` would release the lease before work() begins, and
// does not compile. Give it a name: `if (auto lease = locks.try_acquire(key, options)) work();`
template <class Held>
class [[nodiscard]] acquired {
public:
    acquired() noexcept = default;
    acquired(std::nullopt_t) noexcept {}
    acquired(Held held) noexcept : held_{std::move(held)} {}

    // What was moved from has nothing.
    acquired(acquired&& other) noexcept : held_{std::exchange(other.held_, std::nullopt)} {}
    acquired& operator=(acquired&& other) noexcept {
        if (this != &other) held_ = std::exchange(other.held_, std::nullopt);
        return *this;
    }

    // Whether it was acquired.
    explicit operator bool() const& noexcept { return held_.has_value(); }
    [[nodiscard]] bool has_value() const& noexcept { return held_.has_value(); }

    // What holds is released at the end of the expression that tests it: name it first.
    explicit operator bool() const&& = delete;
    bool has_value() const&& = delete;

    // What was acquired; of a temporary by value, so that no reference to it dangles. Each throws
    // std::logic_error if nothing was.
    [[nodiscard]] Held& value() & { return checked(*this); }
    [[nodiscard]] const Held& value() const& { return checked(*this); }
    [[nodiscard]] Held value() && { return std::move(checked(*this)); }
    [[nodiscard]] Held& operator*() & { return checked(*this); }
    [[nodiscard]] const Held& operator*() const& { return checked(*this); }
    [[nodiscard]] Held operator*() && { return std::move(checked(*this)); }
    Held* operator->() & { return &checked(*this); }
    const Held* operator->() const& { return &checked(*this); }
    // What it points at would be released at the end of the expression: name it first, or take it
    // by value().
    Held* operator->() && = delete;
    const Held* operator->() const&& = delete;

    // Lets go of what was acquired. The object is empty then.
    void reset() noexcept { held_.reset(); }

    // What was acquired, or nothing; the object is empty then.
    operator std::optional<Held>() && { return std::exchange(held_, std::nullopt); }

private:
    template <class Self>
    static auto& checked(Self& self) {
        if (!self.held_)
            throw std::logic_error{"nothing was acquired: test the result before you use it"};
        return *self.held_;
    }

    std::optional<Held> held_;
};

}  // namespace pawl
