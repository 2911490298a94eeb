#include "cli/command_line.hpp"

int main(int count, char** words) { return pawl::cli::run(count, words); }
