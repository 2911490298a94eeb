#include "engines/redis/client/sentinels.hpp"

#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/client/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>

namespace pawl::redis {
namespace {

// A sentinel that is listened to and says nothing is asked whether it lives.
constexpr millis pulse_interval{2000};
constexpr const char* announcements = "+switch-master";

std::optional<std::uint16_t> port_of(std::string_view text) {
    return base::parse_number_within<std::uint16_t>(text, 1, 65535);
}

std::shared_ptr<const redis_settings> settings_for(const redis_settings& base,
                                                   const server_address& sentinel) {
    auto to = std::make_shared<redis_settings>(base);
    to->shape = topology::single;
    to->host = sentinel.host;
    to->port = sentinel.port;
    to->user = base.sentinel_user;
    to->password = base.sentinel_password;
    to->database = 0;
    to->master_name.clear();
    to->common.quarantine.reset();
    return to;
}

}  // namespace

std::shared_ptr<sentinels> sentinels::make(net::loop& where,
                                           std::shared_ptr<const redis_settings> settings) {
    auto made = std::make_shared<sentinels>(where, std::move(settings));
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

sentinels::sentinels(net::loop& where, std::shared_ptr<const redis_settings> settings)
    : settings_{std::move(settings)},
      executor_{where.get_executor()},
      backoff_{executor_},
      pulse_{executor_},
      retries_{base::fresh_seed()} {
    base::ensure(!settings_->seeds.empty() && !settings_->master_name.empty());
    for (const auto& seed : settings_->seeds) asked_.push_back(settings_for(*settings_, seed));
}

// ---- Asking

// One that hangs must leave time for the others and for the master itself.
instant sentinels::share_of(instant deadline) const {
    const auto whole = settings_->common.timeout / static_cast<int>(asked_.size() + 1);
    return std::min(deadline, lease_clock::now() + whole);
}

async<std::vector<reply>> sentinels::ask(std::size_t which, std::string commands, std::size_t count,
                                         instant deadline) {
    const auto to = asked_[which];
    const auto place = place_of(*to);
    auto stream = std::make_shared<net::byte_stream>(executor_);
    auto parser = std::make_shared<reply_parser>();
    net::callback_timer expiry{executor_};
    expiry.call_at(deadline, [stream] { stream->close(); });
    const auto facts = co_await dial(stream, parser, to);
    result<std::vector<reply>> got = failure{errc::unreachable, place + ": no answer"};
    if (facts.has_error())
        got = facts.error();
    else
        got = co_await exchange(stream, parser, commands, count, place);
    stream->close();
    expiry.cancel();
    if (got.has_error() && lease_clock::now() >= deadline)
        co_return failure{errc::unreachable, place + ": the sentinel does not answer"};
    co_return got;
}

async<server_address> sentinels::ask_address(std::size_t which, instant deadline) {
    const auto place = place_of(*asked_[which]);
    std::string question;
    command_writer{question, 3}
        .add("SENTINEL")
        .add("get-master-addr-by-name")
        .add(settings_->master_name);
    const auto got = co_await ask(which, question, 1, deadline);
    if (got.has_error()) co_return got.error();
    const auto& said = got->front();
    if (said.is_error() && is_unknown_command(said.text))
        co_return failure{errc::unsupported,
                          place + " is not a sentinel: " + base::printable(said.text)};
    if (said.is_error()) co_return explain_rejection(place, said.text);
    if (said.kind == reply_kind::nil)
        co_return failure{errc::unsupported, place + ": the sentinel knows no master named '" +
                                                 base::printable(settings_->master_name) + "'"};
    const auto port =
        said.elements.size() == 2 ? port_of(said.elements[1].text) : std::optional<std::uint16_t>{};
    if (!port) co_return failure{errc::protocol, place + " does not speak as a sentinel does"};
    co_return server_address{said.elements[0].text, *port};
}

// What no other sentinel can mend, such as a wrong password, is told in the end.
async<server_address> sentinels::find(instant deadline) {
    std::optional<failure> why;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
        const auto which = (preferred_ + i) % asked_.size();
        const auto until = share_of(deadline);
        auto found = co_await ask_address(which, until);
        if (found.has_value()) {
            preferred_ = which;
            co_return found;
        }
        if (!why || (may_pass(why->code) && !may_pass(found.error().code))) why = found.error();
        if (closed_ || lease_clock::now() >= deadline) break;
    }
    why->detail += " (master " + settings_->master_name + ")";
    co_return *why;
}

async<std::shared_ptr<const redis_settings>> sentinels::locate(instant deadline) {
    const auto self = shared_from_this();
    if (!listening_ && !closed_) {
        listening_ = true;
        boost::asio::co_spawn(executor_, listen_for_ever(self), boost::asio::detached);
    }
    const auto found = co_await find(deadline);
    if (found.has_error()) co_return found.error();
    note(*found);
    auto to = std::make_shared<redis_settings>(*settings_);
    to->host = found->host;
    to->port = found->port;
    co_return std::shared_ptr<const redis_settings>{std::move(to)};
}

async<std::vector<sentinels::sentinel_reply>> sentinels::ask_quorum(instant deadline) {
    const auto self = shared_from_this();
    std::vector<sentinel_reply> all;
    for (std::size_t which = 0; which < asked_.size(); ++which) {
        std::string question;
        command_writer{question, 3}.add("SENTINEL").add("CKQUORUM").add(settings_->master_name);
        const auto until = share_of(deadline);
        const auto got = co_await ask(which, question, 1, until);
        const auto place = place_of(*asked_[which]);
        if (got.has_error())
            all.push_back({place, got.error()});
        else if (got->front().is_error())
            all.push_back({place, explain_rejection(place, got->front().text)});
        else
            all.push_back({place, got->front().text});
    }
    co_return all;
}

// ---- Listening

boost::asio::awaitable<void> sentinels::listen_for_ever(std::shared_ptr<sentinels> self) {
    for (std::size_t which = self->preferred_; !self->closed_; ++which) {
        co_await listen(self, which % self->asked_.size());
        if (self->closed_) break;
        self->backoff_->set(lease_clock::now() + self->retries_.failed());
        co_await self->backoff_->wait();
    }
}

boost::asio::awaitable<void> sentinels::listen(std::shared_ptr<sentinels> self, std::size_t which) {
    const auto to = self->asked_[which];
    auto stream = std::make_shared<net::byte_stream>(self->executor_);
    auto parser = std::make_shared<reply_parser>();
    self->ear_ = stream;
    self->heard_ = true;
    self->subscribed_ = false;
    self->keep_alive(stream);
    const auto facts = co_await dial(stream, parser, to);
    std::string command;
    command_writer{command, 2}.add("SUBSCRIBE").add(announcements);
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    if (facts.has_value()) co_await stream->send_all(boost::asio::buffer(command), token);
    std::array<char, 4096> bytes;
    while (facts.has_value() && !error && !self->closed_) {
        const auto size = co_await stream->receive_some(boost::asio::buffer(bytes), token);
        if (error) break;
        self->heard_ = true;
        parser->feed({bytes.data(), size});
        auto push = parser->next();
        for (; push.has_value() && push->has_value(); push = parser->next()) self->take(**push);
        if (push.has_error()) break;
    }
    stream->close();
    if (!self->closed_) self->pulse_->cancel();
}

// A network that swallows packets ends no connection: only an answer shows that a peer is there.
void sentinels::keep_alive(const std::shared_ptr<net::byte_stream>& stream) {
    if (closed_) return;
    pulse_->cancel();
    pulse_->call_after(pulse_interval, [self = shared_from_this(), stream] {
        if (self->closed_ || stream != self->ear_) return;
        if (!std::exchange(self->heard_, false)) return stream->close();
        self->keep_alive(stream);
        if (!self->subscribed_) return;
        static const std::string ping{"*1\r\n$4\r\nPING\r\n"};
        stream->send_all(boost::asio::buffer(ping),
                         [stream](boost::system::error_code, std::size_t) {});
    });
}

void sentinels::take(const reply& push) {
    if (!push.is_array() || push.elements.size() != 3) return;
    if (push.elements[0].text == "subscribe") {
        // What was announced before is found by asking.
        retries_.succeeded();
        subscribed_ = true;
        boost::asio::co_spawn(executor_, compare(shared_from_this()), boost::asio::detached);
        return;
    }
    if (push.elements[0].text != "message") return;
    // NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT
    std::vector<std::string_view> words;
    std::string_view rest = push.elements[2].text;
    while (!rest.empty()) {
        const auto end = std::min(rest.find(' '), rest.size());
        words.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (words.size() != 5 || words[0] != settings_->master_name) return;
    if (const auto port = port_of(words[4])) note({std::string{words[3]}, *port});
}

boost::asio::awaitable<void> sentinels::compare(std::shared_ptr<sentinels> self) {
    const auto found = co_await self->find(lease_clock::now() + self->settings_->common.timeout);
    if (found.has_value() && !self->closed_) self->note(*found);
}

void sentinels::note(const server_address& master) {
    const bool another = master_ && *master_ != master;
    master_ = master;
    // Posted: the caller that located it has not dialled it yet.
    if (another)
        boost::asio::post(executor_, [self = shared_from_this()] {
            if (self->moved_) self->moved_(*self->master_);
        });
}

// ---- Ending

void sentinels::close() {
    if (closed_) return;
    closed_ = true;
    moved_ = nullptr;
    if (ear_) ear_->close();
    if (backoff_) backoff_->wake();
    if (pulse_) pulse_->cancel();
}

void sentinels::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void sentinels::loop_ends() {
    closed_ = true;
    moved_ = nullptr;
    ear_.reset();
    backoff_.reset();
    pulse_.reset();
}

}  // namespace pawl::redis
