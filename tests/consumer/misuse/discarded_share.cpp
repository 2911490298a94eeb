// wants: nodiscard
void wrong(pawl::lease& lease) { lease.share(); }
