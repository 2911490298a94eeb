// pawl_benchmarks [redis] [sqlite] [holding] [contention]: prints the table of docs/performance.md.
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
    const auto asked_for = [&](const char* name) {
        return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    };
    try {
        const wakefulness awake;
        print_heading();
        if (asked_for("redis")) benchmark_redis();
        if (asked_for("sqlite")) benchmark_sqlite();
        if (asked_for("contention")) benchmark_contention();
        if (asked_for("holding")) benchmark_holding();
    } catch (const std::exception& error) {
        std::cerr << "pawl_benchmarks: " << error.what() << '\n';
        return 1;
    }
}
