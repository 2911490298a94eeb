#include "base/terminal_text.hpp"
#include "base/utf8.hpp"
#include "documents/documents.hpp"

namespace pawl::documents {

// What JSON itself consists of is ASCII, so that only texts in it are mended. They are read at
// terminals too.
std::string serialize(const boost::json::value& document) {
    return base::escaped_json(base::to_utf8(boost::json::serialize(document)));
}

}  // namespace pawl::documents
