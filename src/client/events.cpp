#include "client/events.hpp"

#include <utility>

namespace pawl::client {

// Ends with LF, CR LF or CR; a CR at the very end may yet be followed by its LF.
std::optional<std::string> event_reader::line() {
    const auto end = waiting_.find_first_of("\r\n", read_);
    if (end == std::string::npos) return std::nullopt;
    if (waiting_[end] == '\r' && end + 1 == waiting_.size()) return std::nullopt;
    auto text = waiting_.substr(read_, end - read_);
    const bool pair = waiting_[end] == '\r' && waiting_[end + 1] == '\n';
    read_ = end + (pair ? 2 : 1);
    return text;
}

void event_reader::take_line(std::string_view text) {
    const auto colon = std::min(text.find(':'), text.size());
    const auto field = text.substr(0, colon);
    auto value = text.substr(std::min(colon + 1, text.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "event") made_.name = value;
    if (field == "id") made_.id = value;
    if (field != "data") return;
    made_.data += value;
    made_.data += '\n';
}

result<std::optional<event>> event_reader::next() {
    while (auto text = line()) {
        if (!text->empty()) {
            take_line(*text);
            continue;
        }
        auto done = made_;
        made_.name.clear();
        made_.data.clear();
        if (done.data.empty()) continue;  // a pulse
        done.data.pop_back();
        if (done.name.empty()) done.name = "message";
        return std::optional<event>{std::move(done)};
    }
    waiting_.erase(0, read_);
    read_ = 0;
    if (waiting_.size() + made_.data.size() > event_bytes_max)
        return failure{errc::protocol,
                       "an event has no end after " + std::to_string(event_bytes_max) + " bytes"};
    return std::optional<event>{};
}

}  // namespace pawl::client
