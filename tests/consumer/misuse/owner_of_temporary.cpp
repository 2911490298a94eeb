// wants: deleted
// The text goes with the `locks` that has made it.
std::size_t wrong() {
    const std::string_view owner = pawl::locks::open("memory:").owner();
    return owner.size();
}
