// Tells when a file may have new content, however that came about: written in place, replaced by
// rename as editors do, or by a link that now leads elsewhere, as Kubernetes does with a ConfigMap.
//
// inotify on every folder that the path leads through by a link, and a look every few seconds for
// what inotify does not tell (file systems of other machines, folders that come back). A sign is
// only a reason to look: what counts is whether the file is another one, or has another size or
// time, than when it was looked at last.
#pragma once

#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace pawl::agent {

// How long a file must have stayed as it is, so that half of it is not taken for all,
constexpr millis file_settles_in{200};
// unless it never stays as it is.
constexpr millis file_settles_within{2'000};
constexpr millis file_looked_at_every{5'000};
constexpr std::size_t links_followed_max = 40;

// What a file looks like from outside. Nothing: there is none, or it cannot be seen.
using file_appearance = std::optional<
    std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>>;
file_appearance appearance_of(const std::string& path);

// On its loop only, which must outlive it.
class file_watch {
public:
    // `known` is what it looked like before it was read: what has changed since is told at once.
    file_watch(net::loop& where, std::string path, file_appearance known,
               millis looked_at_every = file_looked_at_every);
    ~file_watch();
    file_watch(const file_watch&) = delete;
    file_watch& operator=(const file_watch&) = delete;

    // True when the content may have changed since this was last said; false after stop(). A file
    // that is gone is no news until there is one again. One caller at a time.
    boost::asio::awaitable<bool> changed();
    void stop();

    // How often it has looked at the file. changed() waits when this has risen.
    std::uint64_t looks() const noexcept;

private:
    struct state;
    static boost::asio::awaitable<bool> watch(std::shared_ptr<state> shared);

    // Shared with the handlers and the coroutine under way.
    std::shared_ptr<state> state_;
};

}  // namespace pawl::agent
