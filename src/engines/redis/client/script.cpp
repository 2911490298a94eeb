#include "engines/redis/client/script.hpp"

#include "base/digest.hpp"
#include "base/ensure.hpp"

#include <array>
#include <charconv>

namespace pawl::redis {

script::script(std::string_view text) : text{text}, digest{base::sha1_hex(text)} {}

script_call::script_call(const script& which, std::size_t keys) : which_{&which} {
    tail_.reserve(256);
    add(static_cast<std::int64_t>(keys));
    parts_ = 1;
}

script_call& script_call::add(std::string_view part) { return add(part, {}); }

script_call& script_call::add(std::int64_t number) {
    std::array<char, 24> text;
    const auto* end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return add(std::string_view{text.data(), static_cast<std::size_t>(end - text.data())});
}

script_call& script_call::add(std::string_view head, std::string_view tail) {
    append_header(tail_, '$', head.size() + tail.size());
    tail_.append(head).append(tail).append("\r\n", 2);
    ++parts_;
    return *this;
}

script_call& script_call::name_life() {
    names_life_ = true;
    return *this;
}

script_call& script_call::confirm_by(std::uint32_t replicas) {
    confirmations_ = replicas;
    return *this;
}

void script_call::append(std::string& out, std::string_view verb, std::string_view body,
                         const life* meant) const {
    base::ensure((meant != nullptr) == names_life_);
    command_writer command{out, parts_ + (names_life_ ? 4u : 2u)};
    command.add(verb).add(body);
    out.append(tail_);
    if (meant != nullptr) command.add(meant->run_id).add(meant->place);
}

void script_call::append_by_digest(std::string& out, const life* meant) const {
    append(out, "EVALSHA", which_->digest, meant);
}

void script_call::append_with_text(std::string& out, const life* meant) const {
    append(out, "EVAL", which_->text, meant);
}

}  // namespace pawl::redis
