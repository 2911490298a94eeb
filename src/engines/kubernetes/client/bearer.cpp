#include "engines/kubernetes/client/bearer.hpp"

#include "base/ascii.hpp"

#include <chrono>
#include <fstream>
#include <sstream>
#include <utility>

namespace pawl::kubernetes {
namespace {

constexpr std::chrono::minutes kept_for{1};
constexpr std::size_t token_bytes_max = 16'384;

// What would end a line of a request must not get into one.
bool is_token(std::string_view text) {
    for (const char letter : text)
        if (letter <= ' ' || letter == '\x7f') return false;
    return !text.empty() && text.size() <= token_bytes_max;
}

}  // namespace

bearer::bearer(std::string token, std::string file)
    : file_{std::move(file)}, token_{base::trimmed(token)} {}

std::optional<std::string> bearer::read() const {
    std::ifstream in{file_};
    std::ostringstream text;
    if (!in || !(text << in.rdbuf())) return std::nullopt;
    auto token = std::move(text).str();
    while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
    token = base::trimmed(token);
    if (!is_token(token)) return std::nullopt;
    return token;
}

result<std::string> bearer::current(instant now) {
    if (file_.empty()) {
        if (!token_.empty() && !is_token(token_))
            return failure{errc::denied, "the token holds spaces or control characters"};
        return token_;
    }
    if (read_at_ && now - *read_at_ < kept_for) return token_;
    if (auto fresh = read()) {
        token_ = std::move(*fresh);
        read_at_ = now;
    } else if (token_.empty()) {
        return failure{errc::denied, "cannot read a token from '" + file_ + "'"};
    }
    return token_;
}

bool bearer::is_replaced(instant now) {
    if (file_.empty()) return false;
    auto fresh = read();
    if (!fresh || *fresh == token_) return false;
    token_ = std::move(*fresh);
    read_at_ = now;
    return true;
}

}  // namespace pawl::kubernetes
