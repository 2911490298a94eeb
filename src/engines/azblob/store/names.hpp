// How records are blobs: their names, and what is in their metadata.
//
// The name of a blob is PREFIX/NAMESPACE/l/KEY, where KEY is in base 32 with the digits in the
// order of their bytes: so a list is in byte order of the keys, and 512 bytes fit into a name. The
// record is metadata, not content, so that a list brings it.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "net/https/https_pool.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::azblob {

// Of one namespace in a container. A class with a constructor: g++ 12 destroys aggregate
// temporaries with strings twice inside co_await.
struct place_of_blobs {
    place_of_blobs(std::string_view prefix, std::string_view name_space)
        : folder{(prefix.empty() ? "" : std::string{prefix} + "/") + std::string{name_space} +
                 "/"} {}

    std::string folder;  // such as pawl/
};

// Digits 0-9a-v, without padding. Source: RFC 4648, 7.
std::string to_base32(std::string_view bytes);
std::optional<std::string> from_base32(std::string_view text);

std::string blob_of(const place_of_blobs& where, const cas::record_name& name);
// What the names of all blobs begin with whose keys do, and of some more.
std::string blobs_from(const place_of_blobs& where, cas::record_kind kind, std::string_view prefix);
// Of a blob of leases or fences; nothing where its name is none of pawl's.
std::optional<std::string> key_of(const place_of_blobs& where, cas::record_kind kind,
                                  std::string_view blob);

// The fields of a request that writes a record, and back.
net::http_fields metadata_of(const cas::record_name& name, std::string_view text);
std::optional<std::string> text_of(std::string_view metadata);

}  // namespace pawl::azblob
