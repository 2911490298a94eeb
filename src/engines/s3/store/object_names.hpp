// Records as objects: names in the order of the keys, which people can read.
#pragma once

#include "engines/cas/store/medium.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::s3 {

// What S3 takes, in bytes.
constexpr std::size_t name_max = 1024;

// Where the records of a namespace are: PREFIX/NAMESPACE/. `prefix` may be empty.
std::string folder_of(std::string_view prefix, std::string_view name_space);

// FOLDER/leases/KEY!, FOLDER/fences/KEY! and FOLDER/marker. A slash of the key is one of the name.
// The '!' at the end keeps objects and folders apart for servers that keep files: job and job/a.
// Bytes below '-' are '!' and two digits, those from '~' on '~' and two digits; at the beginning of
// a part of the path '.' and '/' are ".2e" and ".2f". A part is ended after 200 bytes, as files
// have names of 255.
std::string name_of(const std::string& folder, const cas::record_name& name);

// What the names of all keys with this prefix begin with.
std::string names_begin(const std::string& folder, cas::record_kind kind, std::string_view prefix);

// The key of an object; nothing: it is none of ours.
std::optional<std::string> key_of(const std::string& folder, cas::record_kind kind,
                                  std::string_view name);

// What is wrong with the prefix of a URL, or with the name of a bucket; nothing: it is well.
std::optional<std::string> prefix_fault(std::string_view prefix);
std::optional<std::string> bucket_fault(std::string_view bucket);

}  // namespace pawl::s3
