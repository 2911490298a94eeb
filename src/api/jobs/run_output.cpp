#include "api/jobs/run_output.hpp"

#include "api/jobs/control_look.hpp"
#include "api/limits/single_flight.hpp"
#include "documents/documents.hpp"
#include "net/event.hpp"

#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

constexpr std::string_view replacement = "\xEF\xBF\xBD";
// Followers that look within that time have seen the same.
constexpr millis part_fresh{200};

unsigned byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<unsigned char>(bytes[at]);
}

// How many bytes a character has that begins so; 0 where none does.
std::size_t length_of(unsigned first) {
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first < 0xE0) return 2;
    if (first >= 0xE0 && first < 0xF0) return 3;
    if (first >= 0xF0 && first < 0xF5) return 4;
    return 0;
}

// The second byte rules out long forms, surrogates and what lies beyond Unicode.
bool may_follow(unsigned first, std::size_t place, unsigned byte) {
    if (byte < 0x80 || byte > 0xBF) return false;
    if (place > 1) return true;
    if (first == 0xE0) return byte >= 0xA0;
    if (first == 0xED) return byte < 0xA0;
    if (first == 0xF0) return byte >= 0x90;
    if (first == 0xF4) return byte < 0x90;
    return true;
}

std::string event(std::string_view name, const json::object& data) {
    return "event: " + std::string{name} + "\ndata: " + documents::serialize(data) + "\n\n";
}

std::string output_event(std::uint64_t offset, const std::string& text, std::uint64_t next) {
    json::object data;
    data["offset"] = offset;
    data["text"] = text;
    // Where to go on after a break: an EventSource hands it back as Last-Event-ID.
    return "id: " + std::to_string(next) + "\n" + event("output", data);
}

}  // namespace

decoded decode(std::string_view bytes) {
    decoded made;
    made.text.reserve(bytes.size());
    std::size_t at = 0;
    while (at < bytes.size()) {
        const auto first = byte_at(bytes, at);
        const auto length = length_of(first);
        std::size_t good = length == 0 ? 0 : 1;
        while (good > 0 && good < length && at + good < bytes.size() &&
               may_follow(first, good, byte_at(bytes, at + good)))
            ++good;
        if (good > 0 && good < length && at + good == bytes.size()) break;
        if (good == length && length > 0) {
            made.text += bytes.substr(at, length);
        } else {
            made.text += replacement;
            good = std::max<std::size_t>(good, 1);
        }
        at += good;
    }
    made.taken = at;
    return made;
}

// One look at the journal, and what it gave.
struct run_output::glimpse {
    using value = result<std::optional<output_part>>;
    explicit glimpse(typename single_flight<value>::maker make)
        : answer{std::make_shared<single_flight<value>>(std::move(make))} {}
    std::shared_ptr<single_flight<value>> answer;

    static awaitable<std::shared_ptr<const value>> read(shared_context around, std::string id,
                                                        std::uint64_t offset) {
        auto reading = around->records->read_output(id, offset, output_chunk_bytes_max);
        auto part = co_await std::move(reading);
        co_return std::make_shared<const value>(std::move(part));
    }
};

async<std::optional<output_part>> run_output::read(self_ptr self, std::string id,
                                                   std::uint64_t offset) {
    std::optional<output_part> all;
    for (;;) {
        const auto next = all ? all->offset + all->bytes.size() : offset;
        const auto left = all ? output_answer_max - all->bytes.size() : output_answer_max;
        auto reading =
            self->around_->records->read_output(id, next, std::min(left, output_chunk_bytes_max));
        auto part = co_await std::move(reading);
        if (part.has_error()) co_return std::move(part).error();
        if (!*part) co_return std::optional<output_part>{};
        if (all && (*part)->offset != next) break;
        const bool last = (*part)->bytes.empty();
        if (!all) {
            all = std::move(**part);
        } else {
            all->bytes += (*part)->bytes;
            all->size = (*part)->size;
            all->over = (*part)->over;
        }
        if (last || all->bytes.size() >= output_answer_max) break;
    }
    co_return all;
}

async<run_output::part_ptr> run_output::look(self_ptr self, std::string id, std::uint64_t offset) {
    auto& me = *self;
    const auto key = id + "@" + std::to_string(offset);
    const auto now = me.around_->core->loop().now();
    const auto* seen = me.parts_.use(key, now);
    auto what = seen != nullptr ? *seen : nullptr;
    if (!what) {
        auto around = me.around_;
        what = std::make_shared<glimpse>(
            [around, id, offset] { return glimpse::read(around, id, offset); });
        me.parts_.put(key, what, now);
    }
    // Others may take its place while this one waits.
    auto answer = what->answer;
    auto asking = single_flight<glimpse::value>::get(answer, part_fresh);
    const auto found = co_await std::move(asking);
    if (found->has_error()) co_return found->error();
    co_return part_ptr{found, &**found};
}

awaitable<std::string> run_output::end_event(self_ptr self, std::string id) {
    auto finding = self->around_->records->find_run(std::move(id));
    const auto run = co_await std::move(finding);
    json::object data;
    const bool known = run.has_value() && *run;
    data["status"] = known ? std::string{name_of((*run)->status)} : std::string{};
    data["reason"] = known ? (*run)->reason
                           : std::string{"it was withdrawn before it began, or is kept no longer"};
    co_return event("end", data);
}

awaitable<bool> run_output::is_asked_for(self_ptr self, std::string id) {
    auto looking = look_at_control(self->around_);
    const auto look = co_await std::move(looking);
    // Where it is not known, it may be.
    if (look->has_error()) co_return true;
    const auto& all = (*look)->seen.triggers;
    co_return std::any_of(all.begin(), all.end(),
                          [&](const run_trigger& one) { return one.id == id; });
}

// What a part says to a follower who has come as far as `offset`, which it moves on.
std::string run_output::tell(const output_part& part, std::uint64_t& offset) {
    std::string text;
    if (part.offset > offset) {
        json::object gap;
        gap["offset"] = part.offset;
        gap["missing"] = part.offset - offset;
        text += event("gap", gap);
        offset = part.offset;
    }
    auto read = decode(part.bytes);
    // Nothing will complete what is left of a run that is over.
    const bool last = part.over && part.offset + part.bytes.size() >= part.size;
    if (last && read.taken < part.bytes.size()) {
        read.text += replacement;
        read.taken = part.bytes.size();
    }
    if (read.taken > 0) text += output_event(offset, read.text, offset + read.taken);
    offset += read.taken;
    return text;
}

awaitable<void> run_output::follow(self_ptr self, std::string id, std::uint64_t offset,
                                   std::shared_ptr<http::body_stream> where) {
    const auto left = std::make_shared<net::event>();
    const auto gone = where->gone();
    // The token may be told from another thread.
    const std::stop_callback waking{gone,
                                    [left, executor = self->around_->core->loop().get_executor()] {
                                        boost::asio::post(executor, [left] { left->set(); });
                                    }};
    auto interval = follow_interval;
    auto told = self->around_->core->loop().now();
    int missing = 0;
    while (!gone.stop_requested()) {
        auto looking = look(self, id, offset);
        const auto seen = co_await std::move(looking);
        std::string text;
        bool over = false;
        if (seen.has_value() && **seen) {
            const auto& part = ***seen;
            missing = 0;
            over = part.over && part.bytes.empty();
            text = tell(part, offset);
        } else if (seen.has_value()) {
            auto asking = is_asked_for(self, id);
            const bool waits = co_await std::move(asking);
            // A trigger makes way for its row between two looks.
            missing = waits ? 0 : missing + 1;
            over = missing > 1;
        }
        if (over) {
            auto ending = end_event(self, id);
            text += co_await std::move(ending);
        }
        const auto now = self->around_->core->loop().now();
        const bool silent = text.empty();
        if (silent && now - told >= follow_pulse) text = ":\n\n";
        if (!text.empty()) {
            told = now;
            const auto shared = std::make_shared<const std::string>(std::move(text));
            auto writing = where->write(shared);
            const bool taken = co_await std::move(writing);
            if (!taken || over) co_return;
        }
        if (!silent) {
            interval = follow_interval;
            continue;
        }
        auto waiting = left->wait_for(interval);
        co_await std::move(waiting);
        interval = std::min(2 * interval, follow_interval_longest);
    }
}

}  // namespace pawl::api
