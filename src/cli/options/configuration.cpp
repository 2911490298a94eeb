#include "cli/options/configuration.hpp"

#include "assembly/engines.hpp"
#include "base/counted.hpp"
#include "base/text.hpp"
#include "cli/options/configuration_file.hpp"
#include "cli/output/log_writer.hpp"
#include "cli/output/output.hpp"
#include "cli/output/status.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::cli {
namespace {

// The word that --log-level takes: spdlog's own for `warn` is another.
class level_word final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&,
                spdlog::memory_buf_t& into) override {
        const auto name = spdlog::level::to_string_view(message.level);
        const std::string_view shown = message.level == spdlog::level::warn
                                           ? std::string_view{"warn"}
                                           : std::string_view{name.data(), name.size()};
        into.append(shown.data(), shown.data() + shown.size());
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
        return std::make_unique<level_word>();
    }
};

class stderr_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit stderr_sink(bool json) : json_{json} {}

protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        to_->write(line_of(message), [this](std::size_t lost) { return note_of(lost); });
    }
    void flush_() override {
        to_->tell_lost([this](std::size_t lost) { return note_of(lost); });
    }

private:
    std::string line_of(const spdlog::details::log_msg& message) {
        spdlog::memory_buf_t text;
        formatter_->format(message, text);
        return {text.data(), text.size()};
    }
    std::string note_of(std::size_t lost) {
        auto text = base::counted(lost, "log line") + (lost == 1 ? " was" : " were") +
                    " lost: standard error was not read";
        if (json_) text = '"' + text + '"';
        return line_of({"", spdlog::level::warn, text});
    }

    const std::shared_ptr<log_writer> to_ = standard_error();
    const bool json_;
};

std::optional<std::string> environment(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

// A file that was named, and names no store, may have been meant to. Told once in a process.
void tell_default(const std::string& file, const std::string& url) {
    static bool told = false;
    if (std::exchange(told, true)) return;
    log(log_level::info, base::printable(file) + " names no store: using the default, " + url);
}

}  // namespace

chosen_store choose_store(const globals& options) {
    if (options.store) return {*options.store, "--store"};
    if (const auto url = environment("PAWL_STORE")) return {*url, "PAWL_STORE"};
    const auto file = options.config ? options.config : environment("PAWL_CONFIG");
    if (file) {
        if (const auto url = url_in_file(*file, "store")) return {*url, *file};
    }
    // The default is another store than the one that granted the run its lease.
    if (environment("PAWL_RUN_ID"))
        throw exit_error{status::configuration,
                         "this run has not been given its store; set store_access = true for its "
                         "job, or name one with --store"};
    try {
        auto url = assembly::default_store_url();
        if (file) tell_default(*file, url);
        return {std::move(url), "default"};
    } catch (const option_error& error) {
        throw exit_error{status::configuration, error.what()};
    }
}

chosen_store choose_journal(const globals& options) {
    if (options.journal) return {*options.journal, "--journal"};
    if (const auto url = environment("PAWL_JOURNAL")) return {*url, "PAWL_JOURNAL"};
    const auto file = options.config ? options.config : environment("PAWL_CONFIG");
    if (file) {
        if (const auto url = url_in_file(*file, "journal")) return {*url, *file};
    }
    return {"", "the store"};
}

locks open_locks(const globals& options, open_options how) {
    const auto store = choose_store(options);
    try {
        return locks::open(store.url, std::move(how));
    } catch (const option_error& error) {
        const auto code = store.from == "--store" ? status::usage : status::configuration;
        throw exit_error{code, store.from + ": " + error.what()};
    }
}

std::unique_ptr<runtime::core> open_core(
    const globals& options, open_options how,
    const std::function<runtime::store_maker(runtime::store_maker)>& around) {
    const auto store = choose_store(options);
    const auto journal = choose_journal(options);
    const auto reject = [](const chosen_store& which, std::string_view flag,
                           const option_error& error) -> exit_error {
        const auto code = which.from == flag ? status::usage : status::configuration;
        return exit_error{code, which.from + ": " + error.what()};
    };
    runtime::journal_maker records;
    if (!journal.url.empty()) {
        try {
            records = assembly::plan_journal(store.url, journal.url);
        } catch (const option_error& error) {
            throw reject(journal, "--journal", error);
        }
    }
    try {
        return assembly::open_core(store.url, journal.url, std::move(how), around);
    } catch (const option_error& error) {
        throw reject(store, "--store", error);
    }
}

void set_up_logging(const globals& options) {
    const bool json = options.log_format == "json";
    auto logger = std::make_shared<spdlog::logger>("pawl", std::make_shared<stderr_sink>(json));
    const auto level = options.verbose && options.log_level == "info" ? "debug" : options.log_level;
    logger->set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
    const auto* pattern = json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%*","message":%v})"
                               : "%Y-%m-%dT%H:%M:%S.%e%z %* %v";
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<level_word>('*').set_pattern(pattern);
    logger->set_formatter(std::move(formatter));
    spdlog::set_default_logger(std::move(logger));
}

bool color_wanted(const globals& options, int descriptor) {
    if (options.color != "auto") return options.color == "always";
    return isatty(descriptor) == 1 && !environment("NO_COLOR");
}

}  // namespace pawl::cli
