// wants: nodiscard
// Nothing is released by a coroutine that nobody awaits.
void wrong(pawl::lease& lease) { lease.async_release(); }
