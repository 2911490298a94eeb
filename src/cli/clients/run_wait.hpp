// What a wait for a run has seen of it, and why it is over.
#pragma once

#include "cli/clients/client.hpp"

#include <optional>
#include <string_view>

namespace pawl::cli {

// A machine: it is handed what each look finds.
class run_wait {
public:
    void see(seen_run look);

    bool is_finished() const noexcept { return is_finished_; }
    // Nothing: its row is not there, and reason() says why, as far as that is known.
    const std::optional<run_record>& ended() const noexcept { return ended_; }
    std::string_view reason() const noexcept;

private:
    bool is_finished_ = false;
    bool has_begun_ = false;
    std::optional<run_record> ended_;
};

}  // namespace pawl::cli
