// pawl_benchmarks [NAME…]: prints the table of docs/performance.md, or the parts that are named.
#include "benchmarks/measure.hpp"
#include "benchmarks/wakefulness.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int count, char** words) {
    using namespace pawl::benchmarks;
    const std::vector<std::string> wanted{words + 1, words + count};
    for (const auto& name : wanted) {
        const auto& all = benchmarks();
        if (std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; }))
            continue;
        std::cerr << "pawl_benchmarks: there is no benchmark '" << name << "'; there are";
        for (const auto& one : all) std::cerr << ' ' << one.name;
        std::cerr << '\n';
        return 64;
    }
    try {
        const wakefulness awake;
        print_heading();
        for (const auto& one : benchmarks())
            if (wanted.empty() ? one.when == asked::always
                               : std::find(wanted.begin(), wanted.end(), one.name) != wanted.end())
                one.run();
    } catch (const std::exception& error) {
        std::cerr << "pawl_benchmarks: " << error.what() << '\n';
        return 1;
    }
}
