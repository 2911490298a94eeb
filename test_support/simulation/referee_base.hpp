// What every referee keeps of its world: the laws that were broken, what has happened and how
// often, and the end of the story; and what a whole simulation found.
#pragma once

#include "test_support/simulation/rng.hpp"
#include "test_support/simulation/timeline.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace pawl::simulation {

// `Law` and `Fact` count from 0 to `Laws` and `Facts`; each has its name_of().
template <class Law, std::size_t Laws, class Fact, std::size_t Facts>
class referee_base {
public:
    using law_type = Law;
    using fact_counts = std::array<std::uint64_t, Facts>;
    static constexpr std::size_t laws = Laws;

    void broken(Law which, const std::string& what) {
        const auto text = std::string{name_of(which)} + ": " + what;
        note("BROKEN ", text);
        auto& first = first_[static_cast<std::size_t>(which)];
        if (!first) first = text;
        if (!first_breach_) first_breach_ = text;
    }
    bool broke(Law which) const { return first_[static_cast<std::size_t>(which)].has_value(); }
    // The first breach of any law.
    const std::optional<std::string>& first_breach() const { return first_breach_; }

    // Kept for the replay of a seed that fails.
    void trace_lines(std::size_t lines) { lines_ = lines; }
    bool traces() const { return lines_ > 0 && !first_breach_; }
    template <class... Parts>
    void note(const Parts&... parts) {
        if (traces()) write_line((std::ostringstream{} << ... << parts).str());
    }
    // Ends with the first breach.
    std::string trace() const {
        std::string text;
        for (const auto& line : trace_) text += line + "\n";
        return text;
    }

    // Grows with everything of note: the same for two runs of a seed.
    std::uint64_t fingerprint() const { return fingerprint_; }
    void mix(std::uint64_t value) { fingerprint_ = (fingerprint_ ^ value) * 0x100000001b3U; }

    void happened(Fact which) { ++counts_[static_cast<std::size_t>(which)]; }
    const fact_counts& counts() const { return counts_; }

protected:
    // `moment` writes a time since the beginning as the trace is to show it.
    referee_base(const timeline& time, std::function<std::string(nanos)> moment)
        : time_{time}, moment_{std::move(moment)} {}
    ~referee_base() = default;
    referee_base(const referee_base&) = delete;
    referee_base& operator=(const referee_base&) = delete;

    const timeline& time_;

private:
    void write_line(const std::string& what) {
        trace_.push_back(moment_(time_.now()) + " " + what);
        if (trace_.size() > lines_) trace_.pop_front();
    }

    std::function<std::string(nanos)> moment_;
    std::array<std::optional<std::string>, Laws> first_{};
    std::optional<std::string> first_breach_;
    std::deque<std::string> trace_;
    std::size_t lines_ = 0;
    fact_counts counts_{};
    std::uint64_t fingerprint_ = 0xcbf29ce484222325U;
};

enum class tracing { off, on };

template <class Referee>
struct findings_of {
    using law_type = typename Referee::law_type;

    std::optional<std::string> breach;         // the first law that was broken, and how
    std::array<bool, Referee::laws> broken{};  // every law that was
    typename Referee::fact_counts counts{};
    std::uint64_t events = 0;
    std::uint64_t fingerprint = 0;  // differs as soon as anything of note differs
    double node_hours = 0;
    std::string trace;  // of the end, up to the breach; empty unless asked for

    bool broke(law_type which) const { return broken[static_cast<std::size_t>(which)]; }

    // At the end of a world of so many nodes, which lived until now.
    void conclude(Referee& judge, const timeline& time, std::size_t nodes) {
        breach = judge.first_breach();
        for (std::size_t i = 0; i < broken.size(); ++i)
            broken[i] = judge.broke(static_cast<law_type>(i));
        counts = judge.counts();
        events = time.happened();
        judge.mix(events);
        fingerprint = judge.fingerprint();
        const std::chrono::duration<double, std::ratio<3600>> lived = time.now();
        node_hours = lived.count() * static_cast<double>(nodes);
        trace = judge.trace();
    }
};

// Lets the nodes do what is theirs to do, and the world what is planned, in the order of time.
// The world's settle() runs all that is ready at this instant, next_event() is when a node has
// something to do next, and fire(at) lets those do it whose time has come.
template <class World>
void run_world_until(nanos end, timeline& time, World& all) {
    for (all.settle();; all.settle()) {
        const auto next = std::min(time.next(), all.next_event());
        if (next > end) break;
        time.run_until(next);
        all.fire(next);
    }
    time.run_until(end);
}

}  // namespace pawl::simulation
