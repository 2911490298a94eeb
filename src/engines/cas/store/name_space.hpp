// The namespace of a store: its marker, made when there is none, and what is known of it here.
#pragma once

#include "engines/cas/store/versioned_records.hpp"
#include "net/event.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace pawl::cas {

// On the loop only.
class name_space : public std::enable_shared_from_this<name_space> {
public:
    name_space(std::shared_ptr<versioned_records> records, millis timeout,
               const std::optional<millis>& quarantine = {})
        : records_{std::move(records)}, timeout_{timeout}, is_wary_{quarantine.has_value()} {}

    // The medium is there, has a clock, and was found to keep its word when the namespace was made.
    // Opens it at the first call, once for all who wait. Answers with the deadline of the verb that
    // asks: its timeout from when the namespace was open. One is made once, and so a verb waits
    // longer for that than for anything else.
    async<instant> ready();

    // The marker as it stands now; another if the data was lost meanwhile.
    async<void> look(instant until);

    // Under a quarantine: whether a look is due, as data may have been restored since the last one.
    bool is_due() const noexcept { return is_wary_ && records_->now() >= look_due_; }
    // They have been: a record is older than it was.
    void doubt() noexcept { look_due_ = prepare_due_ = {}; }

    // New keys start above this token from now on, for all processes: above the answer.
    async<fence_token> raise_floor(fence_token to, instant until);

    // Whether the store's clock has been seen behind `end`, of a quarantine: here or by another
    // process, which has recorded it. Looks at that where the clock may be there, and writes it
    // where it is: a process that reads the clock at other moments would begin to doubt it again.
    async<bool> is_behind(micros end, instant until);

    // REQUIRES: ready() has succeeded.
    const marker_record& marker() const noexcept { return marker_; }

private:
    struct opening {
        net::event done;
        std::optional<result<void>> end;
        bool is_racing = false;  // the medium has answered, and there is no namespace
    };
    static boost::asio::awaitable<void> open(std::shared_ptr<name_space> self,
                                             std::shared_ptr<opening> mine);
    async<void> prepare(instant until);
    async<void> begin(const seen& stands, const std::optional<marker_record>& before,
                      instant until);

    // Constant after construction
    const std::shared_ptr<versioned_records> records_;
    const millis timeout_;
    const bool is_wary_;  // a quarantine is set

    // On the loop only
    std::string identity_;
    marker_record marker_;
    std::pair<micros, micros> proved_{};  // the birth of the data, and the end of a quarantine
    bool is_open_ = false;
    instant look_due_{};
    instant prepare_due_{};
    std::shared_ptr<opening> opening_;
    std::optional<failure> rejected_;  // the medium is of no use
    instant rejected_until_{};
};

}  // namespace pawl::cas
