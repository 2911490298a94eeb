// What a list says in place of an entry that cannot be read, because it was damaged or a newer pawl
// has written it.
#pragma once

#include "engines/rules/journal/texts.hpp"

#include <pawl/spi/journal.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace pawl::journals {

// It may be a pause, so the job rests until it is resumed.
inline job_pause unreadable_pause(std::string job, std::string_view why) {
    job_pause pause;
    pause.job = std::move(job);
    pause.reason = "(unreadable) " + std::string{why};
    return pause;
}

// When it was seen cannot be told; that it has not left can.
inline node_entry unreadable_node(std::string id) {
    node_entry node;
    node.id = std::move(id);
    node.name = "(unreadable)";
    node.age = node_memory;
    return node;
}

}  // namespace pawl::journals
