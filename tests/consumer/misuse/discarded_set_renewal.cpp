// wants: nodiscard
void wrong(pawl::lease_set& all) { all.renew(); }
