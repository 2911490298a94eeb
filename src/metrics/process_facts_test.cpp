#include "metrics/process_facts.hpp"
#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace pawl::metrics {
namespace {

std::map<std::string, double> facts() {
    std::map<std::string, double> all;
    for (const auto& family : process_facts()) {
        const auto& one = family.metric.at(0);
        all[family.name] =
            family.type == prometheus::MetricType::Counter ? one.counter.value : one.gauge.value;
    }
    return all;
}

TEST(ProcessFacts, DescriptorsAreCounted) {
    const auto before = facts().at("process_open_fds");
    const int ends[] = {dup(0), dup(0), dup(0)};
    EXPECT_EQ(facts().at("process_open_fds"), before + 3);
    for (const int one : ends) close(one);
    EXPECT_EQ(facts().at("process_open_fds"), before);
    EXPECT_GE(facts().at("process_max_fds"), before);
}

TEST(ProcessFacts, MemoryThatIsTouchedIsResident) {
    constexpr std::size_t much = 64u << 20;
    const auto before = facts();
    void* const memory =
        mmap(nullptr, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::memset(memory, 1, much);
    const auto after = facts();
    munmap(memory, much);
    EXPECT_GE(
        after.at("process_resident_memory_bytes") - before.at("process_resident_memory_bytes"),
        much * 0.9);
    EXPECT_GE(after.at("process_virtual_memory_bytes") - before.at("process_virtual_memory_bytes"),
              much * 0.9);
}

TEST(ProcessFacts, ItsStartLiesInThePast) {
    const auto now = std::chrono::duration<double>(time::wall_now().time_since_epoch()).count();
    const auto started = facts().at("process_start_time_seconds");
    // The kernel tells the time of the boot in whole seconds.
    EXPECT_LE(started, now + 2);
    EXPECT_GE(started, now - 600);
}

// Work is done until the kernel has counted a tick of it.
TEST(ProcessFacts, ProcessorTimeRises) {
    const auto before = facts().at("process_cpu_seconds_total");
    while (facts().at("process_cpu_seconds_total") <= before) {
    }
}

}  // namespace
}  // namespace pawl::metrics
