// wants: nodiscard
void wrong(pawl::fence& guard, pawl::fence_token token) { guard.admit(token); }
