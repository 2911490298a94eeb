// Requests: whatever is accepted keeps its bounds and could not be split in two by another reader,
// and it makes no difference in which parts the bytes come.
#include "http/request_reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using pawl::http::request;
using pawl::http::request_reader;
using state = request_reader::state;

constexpr request_reader::bounds bounds{512, 64};

void require(bool condition) {
    if (!condition) std::abort();
}

bool is_clean(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
    });
}

void check(const request& made) {
    require(!made.method.empty() && is_clean(made.method));
    require(!made.path.empty() && made.path.front() == '/' && is_clean(made.path));
    require(made.path.find_first_of(" ?#") == std::string::npos);
    require(is_clean(made.query) && made.query.find_first_of(" #") == std::string::npos);
    require(made.body.size() <= bounds.body_bytes_max);
    std::size_t bytes = 0, lengths = 0, codings = 0, hosts = 0;
    for (const auto& one : made.fields) {
        require(!one.name.empty() && is_clean(one.name) && is_clean(one.value));
        require(std::none_of(one.name.begin(), one.name.end(),
                             [](char letter) { return letter >= 'A' && letter <= 'Z'; }));
        require(one.name.find_first_of(": \t") == std::string::npos);
        lengths += one.name == "content-length" ? 1 : 0;
        codings += one.name == "transfer-encoding" ? 1 : 0;
        hosts += one.name == "host" ? 1 : 0;
        bytes += one.name.size() + one.value.size();
    }
    // An authority in the target becomes Host, so it counts for both.
    require(bytes <= 2 * bounds.head_bytes_max);
    require(lengths + codings <= 1 && hosts <= 1);
    if (lengths == 1)
        require(std::to_string(made.body.size()) == made.find("content-length") ||
                made.find("content-length").front() == '0');
    if (lengths + codings == 0) require(made.body.empty());
}

struct outcome {
    std::vector<std::string> read;
    state end = state::between;
    unsigned status = 0;

    bool operator==(const outcome&) const = default;
};

// In parts of `step` bytes.
outcome read_all(std::string_view bytes, std::size_t step) {
    outcome result;
    request_reader reader{bounds};
    while (reader.where() != state::faulty) {
        if (reader.where() == state::complete) {
            const auto one = reader.take();
            check(*one.made);
            std::string shown = one.made->method + ' ' + one.made->path + '?' + one.made->query +
                                (one.keeps_alive ? " keeps " : " ends ");
            for (const auto& each : one.made->fields) shown += each.name + ':' + each.value + '\n';
            result.read.push_back(shown + one.made->body);
            reader.feed({});
            continue;
        }
        if (bytes.empty()) break;
        const auto part = bytes.substr(0, step);
        bytes.remove_prefix(part.size());
        reader.feed(part);
    }
    result.end = reader.where();
    if (reader.where() == state::faulty) {
        result.status = reader.fault().status;
        require(!reader.fault().detail.empty() && is_clean(reader.fault().detail));
    }
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const auto whole = read_all(bytes, std::max<std::size_t>(size, 1));
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
        const auto parts = read_all(bytes, step);
        require(parts.read == whole.read && parts.end == whole.end);
        // Which of two faults is met first may differ, but not whether it is the client's.
        require((parts.status == 0) == (whole.status == 0));
    }
    return 0;
}
