// Places of which there are so many, and of them so many for one user: whoever takes ever more
// leaves some to others.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>

namespace pawl::api {

// On one loop only.
class places {
public:
    struct rules {
        std::size_t most = 0;
        std::size_t most_of_user = 0;
    };
    // Taken for as long as it is kept.
    using place = std::shared_ptr<const void>;
    enum class full { of_all, of_user };

    explicit places(const rules& bounds) : bounds_{bounds} {}

    static std::variant<place, full> take(std::shared_ptr<places> self, std::string user);
    std::size_t taken() const noexcept { return taken_; }

private:
    void leave(const std::string& user) noexcept;

    const rules bounds_;
    // State
    std::size_t taken_ = 0;
    std::unordered_map<std::string, std::size_t> of_users_;
};

}  // namespace pawl::api
