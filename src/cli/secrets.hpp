// What other processes must not read of ours: the secrets in our arguments and environment.
#pragma once

namespace pawl::cli {

// Takes the secrets of store URLs, and the API's token, out of what /proc shows of this process and
// of those that it forks. Keeps them for getenv(3); copy the words first. For as long as the kernel
// needs to start this program they were there to be seen: password_file= is for who minds that.
// REQUIRES: one thread.
void hide_secrets(int count, char** words);

}  // namespace pawl::cli
