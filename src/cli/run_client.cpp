#include "cli/run_client.hpp"

#include "agent/run_socket.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/status.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace pawl::cli {
namespace {

namespace json = boost::json;

// Longer than any store or journal takes by itself.
constexpr timeval answer_wait_max{60, 0};
constexpr std::size_t answer_bytes_max = std::size_t{64} * 1024;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::string text_in(const json::object& told, std::string_view name) {
    const auto* value = told.if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->as_string()} : std::string{};
}

bool is_set(const json::object& told, std::string_view name) {
    const auto* value = told.if_contains(name);
    return value != nullptr && value->is_bool() && value->as_bool();
}

errc code_named(std::string_view name) {
    for (const auto code : {errc::unreachable, errc::outcome_unknown, errc::denied, errc::rejected,
                            errc::protocol, errc::unsupported})
        if (name_of(code) == name) return code;
    return errc::rejected;
}

exit_error no_answer(const std::string& why) {
    return {status::unavailable, "no answer from the pawl process that runs this command: " + why};
}

}  // namespace

std::optional<run_client> run_client::inside_run(const globals& options) {
    if (options.store || options.journal || options.url) return std::nullopt;
    auto path = variable("PAWL_RUN_SOCKET");
    auto run = variable("PAWL_RUN_ID");
    if (path.empty() || run.empty()) return std::nullopt;
    const auto token = variable("PAWL_FENCE_TOKEN");
    return run_client{std::move(path), std::move(run), token.empty() ? 0 : token_option(token)};
}

json::object run_client::ask(json::object wanted, const std::string& text) const {
    wanted["run"] = run_;
    wanted["fence_token"] = token_;
    const auto line = json::serialize(wanted) + '\n';
    boost::asio::io_context context;
    boost::asio::local::stream_protocol::socket peer{context};
    boost::system::error_code bad;
    peer.open({}, bad);
    // Blocking calls, so that the kernel keeps the time.
    for (const int side : {SO_RCVTIMEO, SO_SNDTIMEO})
        setsockopt(peer.native_handle(), SOL_SOCKET, side, &answer_wait_max,
                   sizeof answer_wait_max);
    peer.connect(path_, bad);
    if (bad) throw no_answer(base::printable(path_) + ": " + bad.message());
    const std::array<boost::asio::const_buffer, 2> parts{boost::asio::buffer(line),
                                                         boost::asio::buffer(text)};
    boost::asio::write(peer, parts, bad);
    std::string answer;
    if (!bad)
        boost::asio::read_until(peer, boost::asio::dynamic_buffer(answer, answer_bytes_max), '\n',
                                bad);
    if (bad) throw no_answer(bad.message());
    auto told = json::parse(answer, bad);
    if (bad || !told.is_object()) throw no_answer("it speaks another language");
    auto& fields = told.as_object();
    const auto kind = text_in(fields, "answer");
    const auto detail = base::printable(text_in(fields, "detail"));
    if (kind == "rejected") throw exit_error{status::refused, detail};
    if (kind == "failed") throw store_error{{code_named(text_in(fields, "error")), detail}};
    return std::move(fields);
}

bool run_client::save_checkpoint(const std::string& text) const {
    const auto told = ask({{"verb", "checkpoint"}, {"bytes", text.size()}}, text);
    return text_in(told, "answer") == "saved";
}

fence_result run_client::check_fence(const std::string& resource, fence_token token,
                                     fence_rule rule) const {
    const auto told = ask({{"verb", "fence"},
                           {"resource", resource},
                           {"token", number(token)},
                           {"once", rule == fence_rule::reject_not_newer}},
                          {});
    fence_result judged;
    judged.accepted = is_set(told, "accepted");
    judged.never_issued = is_set(told, "never_issued");
    if (const auto* newest = told.if_contains("newest"))
        judged.newest = fence_token{newest->to_number<std::uint64_t>()};
    return judged;
}

}  // namespace pawl::cli
