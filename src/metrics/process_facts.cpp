#include "metrics/process_facts.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace pawl::metrics {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// The fields of /proc/self/stat that follow the command's name, from "state" on.
// Source: proc(5), which counts from 1: state is field 3.
constexpr std::size_t first_field = 3, user_time = 14, system_time = 15, start_time = 22;
constexpr std::size_t virtual_size = 23, resident_pages = 24;

std::string content_of(const char* path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

class stat_fields {
public:
    stat_fields() {
        const auto text = content_of("/proc/self/stat");
        // The name is in brackets, and may hold some itself.
        const auto end = text.rfind(')');
        if (end == std::string::npos) return;
        std::istringstream words{text.substr(end + 1)};
        words_.assign(std::istream_iterator<std::string>{words}, {});
    }
    std::optional<double> operator[](std::size_t field) const {
        const auto place = field - first_field;
        if (place >= words_.size()) return std::nullopt;
        return std::stod(words_[place]);
    }

private:
    std::vector<std::string> words_;
};

std::optional<double> boot_time() {
    std::istringstream lines{content_of("/proc/stat")};
    for (std::string word; lines >> word;)
        if (double seconds = 0; word == "btime" && lines >> seconds) return seconds;
    return std::nullopt;
}

std::optional<double> open_descriptors() {
    std::error_code failed;
    double count = -1;  // the one that reads the folder
    for (std::filesystem::directory_iterator one{"/proc/self/fd", failed}, end;
         !failed && one != end; one.increment(failed))
        ++count;
    if (failed) return std::nullopt;
    return count;
}

std::optional<double> descriptors_max() {
    rlimit bounds{};
    if (getrlimit(RLIMIT_NOFILE, &bounds) != 0) return std::nullopt;
    return static_cast<double>(bounds.rlim_cur);
}

void add(std::vector<MetricFamily>& to, MetricType type, const char* name, const char* help,
         std::optional<double> value) {
    if (!value) return;
    prometheus::ClientMetric metric;
    if (type == MetricType::Counter)
        metric.counter.value = *value;
    else
        metric.gauge.value = *value;
    to.push_back({name, help, type, {std::move(metric)}});
}

}  // namespace

std::vector<MetricFamily> process_facts() {
    const stat_fields stat;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    std::optional<double> cpu, resident, started;
    if (stat[user_time] && stat[system_time]) cpu = (*stat[user_time] + *stat[system_time]) / ticks;
    if (stat[resident_pages]) resident = *stat[resident_pages] * page;
    if (const auto booted = boot_time(); booted && stat[start_time])
        started = *booted + *stat[start_time] / ticks;
    std::vector<MetricFamily> all;
    add(all, MetricType::Counter, "process_cpu_seconds_total", "Processor time used.", cpu);
    add(all, MetricType::Gauge, "process_resident_memory_bytes", "Memory that is in use.",
        resident);
    add(all, MetricType::Gauge, "process_virtual_memory_bytes", "Address space that is in use.",
        stat[virtual_size]);
    add(all, MetricType::Gauge, "process_open_fds", "Open file descriptors.", open_descriptors());
    add(all, MetricType::Gauge, "process_max_fds", "How many may be open.", descriptors_max());
    add(all, MetricType::Gauge, "process_start_time_seconds", "When it was started, Unix time.",
        started);
    return all;
}

}  // namespace pawl::metrics
