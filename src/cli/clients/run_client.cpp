#include "cli/clients/run_client.hpp"

#include "agent/run_socket.hpp"
#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/status.hpp"

#include <pawl/clock.hpp>

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

std::string run_client::answer_to(const std::string& line, const std::string& text) const {
    const auto begun = lease_clock::now();
    boost::asio::io_context context{1};
    boost::asio::local::stream_protocol::socket peer{context};
    boost::system::error_code bad;
    peer.open({}, bad);
    // Where its backlog is full the kernel waits for a place, of which no reactor tells.
    const timeval longest{
        std::chrono::floor<std::chrono::seconds>(answer_timeout).count(),
        std::chrono::microseconds{answer_timeout % std::chrono::seconds{1}}.count()};
    setsockopt(peer.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    peer.connect(path_, bad);
    if (bad) throw no_answer(base::printable(path_) + ": " + bad.message());
    const std::array<boost::asio::const_buffer, 2> parts{boost::asio::buffer(line),
                                                         boost::asio::buffer(text)};
    std::string answer;
    const auto keep = [&bad](const boost::system::error_code& error, std::size_t) { bad = error; };
    const auto read = [&](const boost::system::error_code& error, std::size_t) {
        bad = error;
        if (error) return;
        boost::asio::async_read_until(peer, boost::asio::dynamic_buffer(answer, answer_bytes_max),
                                      '\n', keep);
    };
    // Blocking calls of Asio wait for ever, whatever time a socket is given.
    boost::asio::async_write(peer, parts, read);
    context.run_for(answer_timeout - (lease_clock::now() - begun));
    if (!context.stopped()) throw no_answer("it timed out");
    if (bad) throw no_answer(bad.message());
    return answer;
}

json::object run_client::ask(json::object wanted, const std::string& text) const {
    wanted["run"] = run_;
    wanted["fence_token"] = token_;
    const auto answer = answer_to(json::serialize(wanted) + '\n', text);
    boost::system::error_code bad;
    auto told = json::parse(answer, bad);
    if (bad || !told.is_object()) throw no_answer("it speaks another language");
    auto& fields = told.as_object();
    const auto kind = text_in(fields, "answer");
    const auto detail = base::printable(text_in(fields, "detail"));
    if (kind == "rejected") throw exit_error{status::rejected, detail};
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
        judged.highest = fence_token{newest->to_number<std::uint64_t>()};
    return judged;
}

}  // namespace pawl::cli
