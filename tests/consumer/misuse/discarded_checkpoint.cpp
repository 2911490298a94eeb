// wants: nodiscard
void wrong(const pawl::run& run) { run.checkpoint("page 3"); }
