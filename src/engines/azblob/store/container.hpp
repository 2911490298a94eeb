// The container: how it is asked, and what is done when it is not there. On the loop only.
#pragma once

#include "engines/azblob/client/error_mapping.hpp"
#include "engines/azblob/client/service.hpp"
#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::azblob {

// A whole answer.
struct reply {
    net::https_response answer;
    std::optional<cas::stamp> clock;
    rejection rejected{};  // where it is no success
    bool succeeded = false;
};

class container : public std::enable_shared_from_this<container> {
public:
    // `probe` is the name of a blob that is asked for to see whether the container is there.
    container(net::loop& where, std::shared_ptr<service> on, const std::string& account,
              std::string name, const std::string& prefix, std::string probe);

    // azblob://ACCOUNT/CONTAINER[/PREFIX].
    const std::string& place() const noexcept { return place_; }
    const std::string& name() const noexcept { return name_; }
    service& on() const noexcept { return *service_; }

    // `target` is behind the name of the container: /BLOB, or ?comp=list. A success, or a rejection
    // that `expected` says is an answer; all else is a failure.
    using expectation = bool (*)(const rejection&);
    async<reply> ask(net::https_request request, effect what, expectation expected, instant until);

    // Makes it where there is none, and waits until it can be used. Its identity.
    async<std::string> prepare(instant until);
    // It was found, or made, before.
    bool is_known() const noexcept { return known_; }
    bool has_answered() const noexcept { return has_answered_; }

private:
    async<reply> send(net::https_request request, instant until);
    // False: it is not known whether it is there now.
    async<bool> create(instant until);

    // Constant after construction
    net::loop& where_;
    const std::shared_ptr<service> service_;
    const std::string account_;
    const std::string name_;
    const std::string place_;
    const std::string probe_;
    // On the loop only
    bool known_ = false;
    bool has_answered_ = false;
    bool gone_ = false;  // it was known, and then it was not there
};

}  // namespace pawl::azblob
