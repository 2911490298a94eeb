// What a run writes, as it writes it: to be read by parts, and to be followed.
#pragma once

#include "api/limits/lru_cache.hpp"
#include "api/limits/user_quota.hpp"
#include "api/request/context.hpp"
#include "http/message.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace pawl::api {

constexpr std::size_t output_answer_max = std::size_t{1024} * 1024;
// Between two looks at a run that is followed; longer while it is silent.
constexpr millis follow_interval{250};
constexpr millis follow_interval_longest{1'000};
// So that proxies and pages know that the stream lives.
constexpr millis follow_pulse{15'000};
// Of the parts that followers have come to: as many as these are in memory, and no longer than
// that.
constexpr std::size_t parts_kept_max = 64;
constexpr millis part_kept{2'000};
constexpr std::size_t followers_max = 500;
constexpr std::size_t followers_of_user_max = followers_max / 4;

// The text of bytes that may end in the middle of a character: what is no UTF-8 becomes U+FFFD, and
// the beginning of a character at the end is left for the next part (`taken` says where it begins).
struct decoded {
    std::string text;
    std::size_t taken = 0;
};
decoded decode(std::string_view bytes);

// Reads for all followers: those who have come equally far share one look. On the loop only.
class run_output : public std::enable_shared_from_this<run_output> {
public:
    explicit run_output(shared_context around) : around_{std::move(around)} {}
    using self_ptr = std::shared_ptr<run_output>;
    using part_ptr = std::shared_ptr<const std::optional<output_part>>;

    // At most output_answer_max bytes, none of them behind a gap. Nothing when there is no such
    // run.
    static async<std::optional<output_part>> read(self_ptr self, std::string id,
                                                  std::uint64_t offset);
    // Writes events until the run is over, or the follower has gone.
    static boost::asio::awaitable<void> follow(self_ptr self, std::string id, std::uint64_t offset,
                                               std::shared_ptr<http::body_stream> where);

    // For a follower, which keeps it for as long as it follows.
    std::variant<user_quota::permit, user_quota::full> take_place(const std::string& user) {
        return user_quota::take(followers_, user);
    }

private:
    struct glimpse;
    static async<part_ptr> look(self_ptr self, std::string id, std::uint64_t offset);
    static boost::asio::awaitable<std::string> end_event(self_ptr self, std::string id);
    static boost::asio::awaitable<bool> is_asked_for(self_ptr self, std::string id);
    static std::string tell(const output_part& part, std::uint64_t& offset);

    // Constant after construction
    shared_context around_;
    // State
    lru_cache<std::shared_ptr<glimpse>> parts_{parts_kept_max, part_kept};  // by run and offset
    std::shared_ptr<user_quota> followers_ =
        std::make_shared<user_quota>(user_quota::rules{followers_max, followers_of_user_max});
};

}  // namespace pawl::api
