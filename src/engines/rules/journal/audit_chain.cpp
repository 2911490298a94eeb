#include "engines/rules/journal/audit_chain.hpp"

#include "base/digest.hpp"
#include "base/hex.hpp"

#include <string_view>

namespace pawl::journals {
namespace {

void add(std::string& text, std::string_view field) {
    text += std::to_string(field.size());
    text += ':';
    text += field;
}

}  // namespace

const std::string& chain_start() {
    static const std::string zeros(64, '0');
    return zeros;
}

std::string hash_of(const audit_entry& entry) {
    std::string text;
    add(text, std::to_string(entry.sequence));
    add(text, std::to_string(entry.at));
    for (const auto* field :
         {&entry.actor, &entry.action, &entry.target, &entry.detail, &entry.previous})
        add(text, *field);
    return base::sha256_hex(text);
}

audit_entry next_entry(std::uint64_t sequence, const std::string& hash, const audit_draft& what,
                       std::int64_t at) {
    audit_entry entry;
    entry.sequence = sequence + 1;
    entry.at = at;
    entry.actor = what.actor;
    entry.action = what.action;
    entry.target = what.target;
    entry.detail = what.detail;
    entry.previous = sequence == 0 ? chain_start() : hash;
    entry.hash = hash_of(entry);
    return entry;
}

std::optional<std::uint64_t> first_broken(std::span<const audit_entry> entries) {
    const audit_entry* before = nullptr;
    for (const auto& entry : entries) {
        const bool starts_well = entry.sequence != 1 || entry.previous == chain_start();
        const bool follows = before == nullptr || (entry.sequence == before->sequence + 1 &&
                                                   entry.previous == before->hash);
        if (!starts_well || !follows || entry.hash != hash_of(entry)) return entry.sequence;
        before = &entry;
    }
    return std::nullopt;
}

bool is_hash(std::string_view text) {
    return text.size() == chain_start().size() && base::from_hex(text);
}

void chain_walk::take(std::span<const audit_entry> page) {
    for (const auto& entry : page) {
        const bool follows =
            !later_ || (later_->previous == entry.hash && later_->sequence == entry.sequence + 1);
        const bool starts_well = entry.sequence != 1 || entry.previous == chain_start();
        if (!follows || !starts_well || hash_of(entry) != entry.hash) {
            broken_ = {entry.sequence,
                       "entry " + std::to_string(entry.sequence) + " does not fit the chain"};
            over_ = true;
            return;
        }
        if (!later_) newest_ = entry.sequence;
        if (entry.hash == head_) head_.clear();
        later_ = entry;
        ++verified_;
    }
    if ((later_ && later_->sequence <= 1) || page.empty()) end();
}

void chain_walk::end() {
    over_ = true;
    if (later_ && later_->sequence > 1)
        broken_ = {later_->sequence,
                   "entries before " + std::to_string(later_->sequence) + " are missing"};
    else if (!head_.empty())
        broken_ = {newest_ + 1, "no entry has the hash " + head_ +
                                    ": the newest were cut off, or all were written anew"};
}

}  // namespace pawl::journals
