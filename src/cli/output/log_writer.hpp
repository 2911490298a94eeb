// Lines of the log, on a descriptor whose reader may stand still.
//
// To wait for such a reader stops whatever logs: on the loop that renews leases, renewals end with
// it, and so do the leases and jobs of the process. Who holds leases would rather lose lines.
#pragma once

#include "base/descriptor.hpp"

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace pawl::cli {

// Thread-safe.
class log_writer {
public:
    // Makes the line that says how many were lost.
    using note_maker = std::function<std::string(std::size_t lost)>;

    // The descriptor outlives this.
    explicit log_writer(int file) : file_{file} {}

    // From now on a line that would have to wait is lost, and counted.
    void drop_when_full();
    // From now on lines wait, as they do at first; the last that was lost is written after all.
    void wait_when_full();

    // What was lost is told before the line. Other errors are not told.
    void write(std::string_view line, const note_maker& note);
    // The same without a line.
    void tell_lost(const note_maker& note);

private:
    enum class when_full { wait, drop };

    bool tell(const note_maker& note);
    bool put(std::string_view text);
    ssize_t put_some(std::string_view piece) const;
    bool has_room() const;

    const int file_;
    std::mutex mutex_;
    // Under mutex_
    when_full how_ = when_full::wait;
    bool is_socket_ = false;
    base::descriptor unblocked_{};  // the same pipe, where it can be opened so
    std::size_t lost_ = 0;
    bool is_cut_ = false;  // the last line that was written has no end
    std::string kept_;     // the last that was lost
};

// That of standard error, which all of the process share.
const std::shared_ptr<log_writer>& standard_error();

}  // namespace pawl::cli
