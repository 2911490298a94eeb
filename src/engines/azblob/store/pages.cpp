#include "engines/azblob/store/pages.hpp"

#include "base/percent.hpp"
#include "base/xml.hpp"

#include <algorithm>
#include <utility>

namespace pawl::azblob {
namespace {

// A page of records of the greatest size stays below what an answer may have.
constexpr std::size_t page_max = 1000;
constexpr std::size_t markers_max = 8;

bool none_is_expected(const rejection&) { return false; }

net::https_request page_request(const place_of_blobs& where, const cas::list_order& what,
                                const std::string& marker, std::size_t size) {
    auto target =
        "?restype=container&comp=list&include=metadata&maxresults=" + std::to_string(size) +
        "&prefix=" + base::percent_encode(blobs_from(where, what.kind, what.prefix));
    if (!marker.empty()) target += "&marker=" + base::percent_encode(marker);
    return {"GET", std::move(target)};
}

// Adds what is asked for.
void add_records(cas::listing& to, const place_of_blobs& where, const cas::list_order& what,
                 blob_page page, const std::optional<cas::stamp>& clock) {
    for (auto& one : page.blobs) {
        const auto key = key_of(where, what.kind, one.name);
        if (!key || *key <= what.after || !key->starts_with(what.prefix)) continue;
        if (to.records.size() == what.limit) {
            to.more = true;
            return;
        }
        auto stands = cas::foreign_record();
        if (auto text = text_of(one.record)) stands = {std::move(*text), std::move(one.tag), {}};
        stands.clock = clock;
        to.records.emplace_back(*key, std::move(stands));
    }
}

}  // namespace

std::optional<blob_page> read_page(std::string_view xml) {
    if (xml.find("<EnumerationResults") == std::string_view::npos) return std::nullopt;
    blob_page page;
    for (const auto one : base::elements_in(xml, "Blob")) {
        auto tag = base::text_in(one, "Etag");
        std::erase(tag, '"');
        // As it stands: what is in it has entities of its own.
        const auto metadata = base::elements_in(one, "Metadata");
        page.blobs.push_back(
            {base::text_in(one, "Name"), std::move(tag),
             metadata.empty() ? std::string{} : base::text_in(metadata.front(), "record")});
    }
    page.next = base::text_in(xml, "NextMarker");
    return page;
}

std::string markers::take(const cas::list_order& what) {
    const auto found = std::find_if(places_.begin(), places_.end(), [&](const place& one) {
        return one.kind == what.kind && one.prefix == what.prefix && one.last == what.after;
    });
    if (found == places_.end()) return {};
    auto marker = std::move(found->marker);
    places_.erase(found);
    return marker;
}

void markers::keep(const cas::list_order& what, const std::string& last, std::string marker) {
    if (places_.size() == markers_max) places_.pop_front();
    places_.push_back({what.kind, what.prefix, last, std::move(marker)});
}

async<cas::listing> list_records(std::shared_ptr<container> on, std::shared_ptr<markers> known,
                                 place_of_blobs where, cas::list_order what, instant until) {
    cas::listing made;
    auto marker = what.after.empty() ? std::string{} : known->take(what);
    const bool skips = !what.after.empty() && marker.empty();
    for (;;) {
        const auto size = skips ? page_max : std::min(page_max, what.limit - made.records.size());
        auto asking = on->ask(page_request(where, what, marker, size), effect::none,
                              &none_is_expected, until);
        auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        auto page = read_page(got->answer.body);
        if (!page)
            co_return failure{errc::protocol,
                              on->place() + ": this is not Azure Blob Storage: it lists no blobs"};
        marker = std::move(page->next);
        add_records(made, where, what, std::move(*page), got->clock);
        if (made.more || marker.empty()) co_return made;
        if (made.records.size() == what.limit) {
            known->keep(what, made.records.back().first, std::move(marker));
            made.more = true;
            co_return made;
        }
    }
}

}  // namespace pawl::azblob
