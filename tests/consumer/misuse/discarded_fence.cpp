// wants: nodiscard
void wrong(pawl::locks& locks, pawl::fence_token token) { locks.check_fence("resource", token); }
