// The token that a request carries. A pod's is replaced in its file about every hour.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <optional>
#include <string>

namespace pawl::kubernetes {

// Used by one thread at a time. Reads a small file, which in a pod lies in memory.
class bearer {
public:
    // `token` is for ever; else `file` is read, and again when what was read is a minute old. Both
    // empty: requests carry none.
    bearer(std::string token, std::string file);

    // What to send now; empty: nothing. `denied` where the file was never readable.
    result<std::string> current(instant now);
    // The server has rejected it: true if the file holds another by now.
    bool is_replaced(instant now);

private:
    std::optional<std::string> read() const;

    const std::string file_;
    std::string token_;
    std::optional<instant> read_at_;
};

}  // namespace pawl::kubernetes
