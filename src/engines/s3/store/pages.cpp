// Records in byte order of their keys. A list of S3 has names only, so each record is read.
#include "base/percent.hpp"
#include "base/xml.hpp"
#include "engines/s3/store/object_names.hpp"
#include "engines/s3/store/s3_medium.hpp"

namespace pawl::s3 {

async<medium::name_page> medium::list_names(cas::record_kind kind, std::string begin,
                                            std::string after, std::size_t limit, instant until) {
    const auto self = shared_from_this();
    bucket_request wanted{"GET", ""};
    wanted.query =
        "list-type=2&max-keys=" + std::to_string(limit) + "&prefix=" + base::percent_encode(begin);
    if (!after.empty()) wanted.query += "&start-after=" + base::percent_encode(after);
    auto asking = on_->ask(std::move(wanted), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    const std::string_view xml = got->response.body;
    if (xml.find("<ListBucketResult") == std::string_view::npos)
        co_return failure{errc::protocol, place_ + ": this is not S3: a list without its names"};
    name_page made;
    made.more = base::text_in(xml, "IsTruncated") == "true";
    for (const auto one : base::elements_in(xml, "Contents")) {
        made.last = base::text_in(one, "Key");
        if (auto key = key_of(folder_, kind, made.last)) made.keys.push_back(std::move(*key));
    }
    if (made.more && made.last <= after)
        co_return failure{errc::protocol, place_ + ": the list of this server does not advance"};
    co_return made;
}

async<cas::listing> medium::list(cas::list_order what, instant until) {
    const auto self = shared_from_this();
    const auto begin = names_begin(folder_, what.kind, what.prefix);
    auto from = what.after.empty() ? std::string{} : name_of(folder_, {what.kind, what.after});
    cas::listing made;
    // What others have put there, and what was erased meanwhile, is passed over, so it may take
    // several pages.
    for (;;) {
        auto listing = list_names(what.kind, begin, from, what.limit - made.records.size(), until);
        const auto page = co_await std::move(listing);
        if (page.has_error()) co_return page.error();
        std::vector<cas::record_name> names;
        for (const auto& key : page->keys) names.emplace_back(what.kind, key);
        auto reading = read_many(std::move(names), until);
        auto found = co_await std::move(reading);
        if (found.has_error()) co_return found.error();
        for (std::size_t i = 0; i < found->size(); ++i)
            if (!(*found)[i].at.empty())
                made.records.emplace_back(page->keys[i], std::move((*found)[i]));
        made.more = page->more;
        if (!made.more || made.records.size() == what.limit) co_return made;
        from = page->last;
    }
}

}  // namespace pawl::s3
