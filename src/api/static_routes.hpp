// The web UI: its files, and index.html for every address that the web UI itself knows the meaning
// of.
#pragma once

#include "api/assets.hpp"
#include "http/message.hpp"

#include <span>

namespace pawl::api {

// For GET and HEAD of what is no route of the API. Files whose name changes with what is in them
// are kept for ever, the others are asked about again each time (304). An address that is no file
// is the web UI's own when a browser asks for it as a document, else 404.
http::response serve_asset(const http::request& asked);
// The same from a table of the caller's own, sorted by path, which outlives every answer.
http::response serve_from(std::span<const ui::asset> table, const http::request& asked);

}  // namespace pawl::api
