// wants: nodiscard
void wrong() { pawl::locks::open("memory:"); }
