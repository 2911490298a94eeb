// The chain of hashes that makes the audit's entries one statement: to change, leave out or move
// one of them, everything after it has to be written anew.
#pragma once

#include <pawl/spi/journal.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::journals {

// `previous` of the first entry.
const std::string& chain_start();

// SHA-256, in hexadecimal, over sequence, at, actor, action, target, detail and previous; each is
// written as its length in bytes, a colon and its bytes, and numbers are written in decimal. So no
// two different entries have the same text.
std::string hash_of(const audit_entry& entry);

// The entry that follows one with this sequence and hash.
audit_entry next_entry(std::uint64_t sequence, const std::string& hash, const audit_draft& what,
                       std::int64_t at);

// The sequence of the first entry that does not follow from the one before it; nothing where all
// do. The oldest comes first; it may be any entry, and if it is the first, its start is checked.
std::optional<std::uint64_t> first_broken(std::span<const audit_entry> entries);

// Whether the text is a hash as entries have it: 64 hexadecimal digits in lower case.
bool is_hash(std::string_view text);

// Checks a whole chain page by page, from its newest entry back to its first.
//
// That its newest entries were cut off, or all of it written anew, a chain cannot show by itself. A
// head does, which is the hash that its newest entry had at some time, noted elsewhere.
class chain_walk {
public:
    // Empty: none was noted.
    explicit chain_walk(std::string head = {}) : head_{std::move(head)} {}

    struct fault {
        std::uint64_t sequence = 0;
        std::string what;  // one line
    };

    // The page that begins where the last one ended, the newest first; an empty one is the end.
    void take(std::span<const audit_entry> page);
    // Where the next page begins: what journal::list_audit calls `before`.
    std::uint64_t before() const noexcept { return later_ ? later_->sequence : 0; }
    // The first entry has been seen, something does not fit, or there is nothing more.
    bool is_finished() const noexcept { return over_; }

    std::uint64_t verified() const noexcept { return verified_; }
    const std::optional<fault>& broken() const noexcept { return broken_; }

private:
    void end();

    std::string head_;  // empty: none was noted, or it has been seen
    std::uint64_t newest_ = 0;
    std::optional<audit_entry> later_;
    std::uint64_t verified_ = 0;
    std::optional<fault> broken_;
    bool over_ = false;
};

}  // namespace pawl::journals
