// Records in byte order of their keys, out of the pages in which a container is listed.
#pragma once

#include "engines/azblob/store/container.hpp"
#include "engines/azblob/store/names.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::azblob {

// What one answer lists.
struct blob_page {
    struct blob {
        std::string name;
        std::string tag;     // its ETag, without quotes
        std::string record;  // as in its metadata
    };
    std::vector<blob> blobs;
    std::string next;  // the marker of the page behind it; empty: there is none
};
std::optional<blob_page> read_page(std::string_view xml);

// Azure takes up a list by a marker that it gave, not behind a name. So the markers of the newest
// lists are kept, and a list that is asked for behind the end of one is not begun anew. On the loop
// only.
class markers {
public:
    // Empty: there is none, and the list begins at its begin.
    std::string take(const cas::list_order& what);
    void keep(const cas::list_order& what, const std::string& last, std::string marker);

private:
    struct place {
        cas::record_kind kind;
        std::string prefix;
        std::string last;
        std::string marker;
    };
    std::deque<place> places_;
};

async<cas::listing> list_records(std::shared_ptr<container> on, std::shared_ptr<markers> known,
                                 place_of_blobs where, cas::list_order what, instant until);

}  // namespace pawl::azblob
