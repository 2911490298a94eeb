#include "engines/kubernetes/client/api.hpp"

#include "base/percent.hpp"

#include <pawl/version.hpp>

#include <algorithm>

namespace pawl::kubernetes {
namespace {

constexpr std::size_t rejection_bytes_max = std::size_t{16} * 1024;

std::string place_of(const cluster_access& access) {
    const bool is_v6 = access.host.find(':') != std::string::npos;
    return (is_v6 ? "[" + access.host + "]" : access.host) + ":" + std::to_string(access.port);
}

const char* method_of(verb what) {
    switch (what) {
        case verb::create:
        case verb::review:
            return "POST";
        case verb::patch:
            return "PATCH";
        case verb::erase:
            return "DELETE";
        default:
            return "GET";
    }
}

const char* content_type_of(verb what) {
    return what == verb::patch ? "application/merge-patch+json" : "application/json";
}

}  // namespace

std::shared_ptr<api> api::make(net::loop& where, cluster_access access) {
    return std::make_shared<api>(where, std::move(access));
}

api::api(net::loop& where, cluster_access access)
    : where_{where},
      access_{std::move(access)},
      place_{place_of(access_)},
      token_{access_.token, access_.token_file} {}

net::https_pool& api::pool() {
    if (!pool_) {
        net::https_settings settings;
        settings.secure = access_.secure;
        settings.host = access_.host;
        settings.port = access_.port;
        settings.tls = access_.tls;
        settings.proxy = access_.proxy;
        if (settings.proxy.empty()) settings.proxy = net::proxy_of_environment(settings);
        pool_ = net::https_pool::make(where_, std::move(settings));
    }
    return *pool_;
}

void api::forget_files_on(const failure& why) {
    if (why.code == errc::denied) pool_.reset();
}

void api::close() noexcept {
    if (pool_) pool_->close();
}

std::optional<finding> api::examine_tls() const {
    return pool_ ? pool_->examine_tls() : std::nullopt;
}

std::string api::leases() const {
    return "/apis/coordination.k8s.io/v1/namespaces/" + base::percent_encode(access_.name_space) +
           "/leases";
}

std::string api::lease(std::string_view name) const {
    return leases() + "/" + base::percent_encode(name);
}

failure api::rejection(verb what, const net::https_response& told) const {
    return explain_rejection({place_, access_.name_space, what}, told.status, told.body,
                             told.field("retry-after"));
}

result<net::https_request> api::dress(const api_request& wanted) {
    const auto token = token_.current(where_.now());
    if (token.has_error()) return failure{token.error().code, place_ + ": " + token.error().detail};
    net::https_request request{method_of(wanted.what), access_.path + wanted.target, wanted.body};
    request.fields = {{"Accept", "application/json"},
                      {"User-Agent", "pawl/" + std::string{version}}};
    if (!token->empty()) request.fields.emplace_back("Authorization", "Bearer " + *token);
    if (!wanted.body.empty())
        request.fields.emplace_back("Content-Type", content_type_of(wanted.what));
    request.only_reads = only_reads(wanted.what);
    return request;
}

async<net::https_response> api::ask(api_request wanted, instant until) {
    const auto self = shared_from_this();
    for (int tries = 0;; ++tries) {
        auto request = dress(wanted);
        if (request.has_error()) co_return request.error();
        auto asking = pool().ask(std::move(*request), until);
        auto told = co_await std::move(asking);
        if (told.has_error()) {
            forget_files_on(told.error());
            co_return std::move(told);
        }
        // It was not carried out, so it may be asked again.
        if (told->status == 401 && tries == 0 && token_.is_replaced(where_.now())) continue;
        if (told->status == 401 || told->status == 429) co_return rejection(wanted.what, *told);
        co_return std::move(told);
    }
}

async<std::shared_ptr<net::https_pool::lines>> api::watch(std::string target, instant until) {
    const auto self = shared_from_this();
    for (int tries = 0;; ++tries) {
        auto request = dress(api_request{verb::watch, target});
        if (request.has_error()) co_return request.error();
        auto opening = pool().open_lines(std::move(*request), until);
        auto opened = co_await std::move(opening);
        if (opened.has_error()) {
            forget_files_on(opened.error());
            co_return std::move(opened);
        }
        const auto& lines = *opened;
        if (lines->status() == 200) co_return std::move(opened);
        if (lines->status() == 401 && tries == 0 && token_.is_replaced(where_.now())) continue;
        net::https_response told;
        told.status = lines->status();
        while (told.body.size() < rejection_bytes_max) {
            auto reading = lines->next(until);
            const auto line = co_await std::move(reading);
            if (line.has_error() || !*line) break;
            told.body += **line;
        }
        co_return rejection(verb::watch, told);
    }
}

}  // namespace pawl::kubernetes
