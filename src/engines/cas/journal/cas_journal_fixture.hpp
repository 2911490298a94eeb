// Journals over one medium in memory, on virtual time, of which any request can be lost or held;
// all that can be seen of a journal, as a text; and the laws that sweeps hold verbs to.
#pragma once

#include "engines/cas/journal/make_cas_journal.hpp"
#include "engines/cas/store/record_text.hpp"
#include "engines/rules/journal/audit_chain.hpp"
#include "test_support/media/memory_stage.hpp"

#include <pawl/spi/journal.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::cas {

using namespace std::chrono_literals;
using testing_media::fate;
using testing_media::record_table;

// Answers as texts, without times.
inline std::string told(bool answer) { return answer ? "yes" : "no"; }
inline std::string told(std::size_t answer) { return std::to_string(answer); }
inline std::string told(heartbeat_result answer) {
    return answer == heartbeat_result::alive   ? "alive"
           : answer == heartbeat_result::stale ? "stale"
                                               : "cancel";
}
inline std::string told(const std::vector<heartbeat_result>& answers) {
    std::string text;
    for (const auto each : answers) text += told(each) + " ";
    return text;
}
inline std::string told(const begin_result& answer) {
    std::ostringstream text;
    text << static_cast<int>(answer.outcome) << " " << answer.id << " #" << answer.attempt << " '"
         << answer.checkpoint << "' " << name_of(answer.status) << " " << answer.output_size;
    return text.str();
}
inline std::string told(const std::vector<job_entry>& jobs) { return std::to_string(jobs.size()); }
inline std::string told(const audit_entry& entry) { return entry.actor; }

// A verb with its arguments, whose answer is a text; a failure is the name of its code.
using told_verb = std::function<async<std::string>(journal&)>;

template <class T>
async<std::string> answer_of(async<T> verb) {
    const auto got = co_await std::move(verb);
    if (got.has_error()) co_return "error " + std::string{name_of(got.error().code)};
    if constexpr (std::is_void_v<T>)
        co_return std::string{"done"};
    else
        co_return told(*got);
}

// What holds of every verb, whatever becomes of its requests.
enum class law {
    one_step,         // all of a verb is seen, or nothing of it
    true_answer,      // an answer says what happened, and a failure no more than is known
    repeatable,       // a repeated verb has the same answer, and the same is seen
    saved_for_heirs,  // the job's next run is given what was saved
    nothing_left,     // what runs and lost processes leave can be removed
    in_turn,          // of two verbs one happens before the other
    views_agree       // every look is answered, by each list and each look alike
};
inline std::string_view name_of(law which) {
    constexpr std::array<std::string_view, 7> names{"one_step",        "true_answer",  "repeatable",
                                                    "saved_for_heirs", "nothing_left", "in_turn",
                                                    "views_agree"};
    return names.at(static_cast<std::size_t>(which));
}

// The first law that was seen broken.
struct violation {
    law broken{};
    std::string how{};
};

// What a process reaches the table by.
using media_maker =
    std::function<std::shared_ptr<medium>(net::loop&, std::shared_ptr<record_table>)>;

class journal_setup {
public:
    explicit journal_setup(media_maker by = testing_media::make_memory_medium)
        : makes_{std::move(by)} {
        on.table->fates = [this](bool writes, const record_name& name) {
            return fate_for(writes, name);
        };
        on.table->delay = [this] { return std::exchange(held_, std::chrono::nanoseconds{0}); };
        // A namespace that is there, whose medium has passed its race.
        marker_record made;
        made.identity = on.table->identity;
        made.rounds = 1;
        made.nonce = "n";
        on.table->put({record_kind::marker, {}}, encode(made));
    }

    // A process of its own.
    std::shared_ptr<journal> open() {
        return make_cas_journal(on.where(), on.settings.common, makes_(on.where(), on.table));
    }
    std::string ask(const std::shared_ptr<journal>& who, const told_verb& verb) {
        return on.end_of(verb(*who)).value();
    }
    template <class T>
    T get(async<T> verb) {
        auto got = on.end_of(std::move(verb));
        demand(law::views_agree, got.has_value(), [&] { return got.error().detail; });
        return got.has_value() ? std::move(*got) : T{};
    }
    // `how` gives a text, where the law is broken.
    template <class How>
    void demand(law which, bool holds, How how) {
        if (!holds && !broken) broken = violation{which, how()};
    }

    // From now on the request with this number, from 1, fares so; and with `is_last` the process is
    // cut off behind it.
    void disturb(int request, fate how, bool is_last) {
        count_ = 0;
        at_ = request;
        how_ = how;
        is_last_ = is_last;
    }
    // That request is held for so long, and `meanwhile` is called.
    void hold(int request, std::chrono::nanoseconds time, std::function<void()> meanwhile) {
        disturb(request, fate::answered, false);
        hold_time_ = time;
        meanwhile_ = std::move(meanwhile);
    }
    // Whether it was reached.
    bool calm() {
        const bool was_reached = count_ >= at_;
        at_ = 0;
        meanwhile_ = nullptr;
        return was_reached;
    }

    // What everybody sees.
    std::string view() {
        std::ostringstream text;
        const auto by = open();
        const auto all = runs(*by, {});
        for (const auto& run : all) text << shown(*by, run) << "\n";
        for (const auto* job : {"report", "backup"}) {
            run_filter which;
            which.job = job;
            text << "of " << job << ":" << listed(*by, which, all) << "\n";
        }
        for (const auto status : {run_status::started, run_status::abandoned}) {
            run_filter which;
            which.status = status;
            text << name_of(status) << ":" << listed(*by, which, all) << "\n";
        }
        const auto control = get(by->read_control_state());
        text << "cancels:";
        for (const auto& id : control.cancels) text << " " << id;
        text << "\norphans:" << ids(control.orphans) << "\ntriggers:";
        for (const auto& each : control.triggers) text << " " << each.id << each.arguments.size();
        text << "\npauses:";
        for (const auto& each : control.pauses) text << " " << each.job << each.reason;
        text << "\njobs:";
        for (const auto& each : get(by->list_jobs("", 100)))
            text << " " << each.name << each.schedule << each.node
                 << (each.since < each.published_at);
        text << "\nnodes:";
        for (const auto& each : get(by->list_nodes())) text << " " << each.id << each.running;
        text << "\naudit:";
        auto audit = get(by->list_audit(0, 100));
        for (const auto& each : audit) text << " " << each.sequence << each.actor;
        std::reverse(audit.begin(), audit.end());
        demand(law::views_agree, !journals::first_broken(audit),
               [] { return "the audit's chain is broken"; });
        return text.str();
    }
    // What lies in the medium, by its keys.
    std::vector<std::string> keys_there() {
        std::vector<std::string> found;
        for (const auto& [key, stands] : on.table->list(record_kind::journal, "", "", 1000).records)
            found.push_back(key);
        return found;
    }

    testing_media::memory_stage on;
    bool shows_heartbeats = true;
    std::optional<violation> broken{};

private:
    fate fate_for(bool, const record_name& name) {
        if (name.kind != record_kind::journal || at_ == 0) return fate::answered;
        ++count_;
        if (count_ < at_) return fate::answered;
        if (count_ > at_) return is_last_ ? fate::request_lost : fate::answered;
        if (meanwhile_) {
            // Requests of others are not counted, nor held: what is started here may ask at once.
            at_ = std::numeric_limits<int>::max();
            std::exchange(meanwhile_, nullptr)();
            at_ = 0;
            count_ = 1;
            held_ = hold_time_;
        }
        return how_;
    }

    std::vector<run_record> runs(journal& by, const run_filter& which) {
        std::vector<run_record> all;
        std::string after;
        do {
            auto page = get(by.list_runs(which, after, 2));
            for (auto& each : page.records) all.push_back(std::move(each));
            after = page.next;
        } while (!after.empty());
        return all;
    }
    static std::string ids(const std::vector<run_record>& runs) {
        std::string text;
        for (const auto& each : runs) text += " " + each.id;
        return text;
    }
    // Those of all that the filter fits, and no others.
    std::string listed(journal& by, const run_filter& which, const std::vector<run_record>& all) {
        std::vector<run_record> fitting;
        std::copy_if(all.begin(), all.end(), std::back_inserter(fitting), [&](const auto& run) {
            return which.job.value_or(run.job) == run.job &&
                   which.status.value_or(run.status) == run.status;
        });
        const auto found = ids(runs(by, which));
        demand(law::views_agree, found == ids(fitting),
               [&] { return "listed:" + found + ", and not:" + ids(fitting); });
        return found;
    }
    std::string shown(journal& by, const run_record& run) {
        std::ostringstream text;
        text << run.id << " " << run.job << " " << name_of(run.status) << " " << number(run.token)
             << " #" << run.attempt << " " << run.reason << " " << run.node << " '"
             << run.checkpoint.substr(0, 20) << "'" << run.checkpoint.size()
             << (run.cancel_requested ? " cancel" : "")
             << (shows_heartbeats && run.last_heartbeat > run.started_at ? " heard" : "") << " "
             << run.output_size;
        demand(law::views_agree, get(by.find_run(run.id)).has_value(),
               [&] { return "listed and not found: " + run.id; });
        for (const auto& event : get(by.history(run.id)))
            text << " " << event.kind << "(" << event.text << ")";
        const auto part = get(by.read_output(run.id, 0, 100'000));
        if (part) text << " " << part->offset << "'" << part->bytes << "'" << part->over;
        return text.str();
    }

    const media_maker makes_;
    int count_ = 0;
    int at_ = 0;
    fate how_ = fate::answered;
    bool is_last_ = false;
    std::chrono::nanoseconds hold_time_{0};
    std::chrono::nanoseconds held_{0};
    std::function<void()> meanwhile_;
};

// Starts and marks with few words.
inline run_start start_of(const std::string& id, std::uint64_t token,
                          std::optional<std::int64_t> due = {},
                          delivery mode = delivery::at_least_once) {
    run_start start{id, "report", "job/report"};
    start.token = fence_token{token};
    start.node = "node-" + std::to_string(token);
    start.trigger = "schedule";
    start.delivery = mode;
    start.heartbeat_timeout = 10s;
    if (due) start.occurrence = occurrence{*due};
    return start;
}
inline run_ref mark(const std::string& id, std::uint64_t token) { return {id, fence_token{token}}; }
inline run_end end_as(run_status status, const std::string& reason = "why") {
    run_end how;
    how.status = status;
    how.reason = reason;
    return how;
}
inline run_trigger trigger_with(const std::string& id) {
    run_trigger what;
    what.id = id;
    what.job = "report";
    what.arguments = {"--all"};
    what.by = "ada";
    return what;
}

}  // namespace pawl::cas
