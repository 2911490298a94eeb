// A folder for the sockets by which commands speak to pawl (agent/run_socket.hpp).
#pragma once

#include <string>

namespace pawl::exec {

// Ours to write, everybody's to pass through, no other user's to list; in the first of
// RUNTIME_DIRECTORY, XDG_RUNTIME_DIR or /run, TMPDIR and /tmp that has room for it, and, for root,
// lets others pass. Empty: none does.
std::string make_folder();

// Makes one of make_folder() anew where it is gone, as a cleaner of old files takes it. 0, or
// errno: EACCES where it is not ours by now.
int restore_folder(const std::string& path);

// With the sockets in it.
void remove_folder(const std::string& path);

}  // namespace pawl::exec
