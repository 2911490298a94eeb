// Keeps the processors awake until its input ends, for benchmarks in other languages. Prints an
// empty line when it does.
#include "benchmarks/wakefulness.hpp"

#include <iostream>
#include <string>

int main() {
    const pawl::benchmarks::wakefulness awake;
    std::cout << std::endl;
    for (std::string ignored; std::getline(std::cin, ignored);) {
    }
}
