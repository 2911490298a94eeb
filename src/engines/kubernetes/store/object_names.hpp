// What records are called among the Lease objects of a namespace of Kubernetes.
//
// A name there has 253 small letters, digits, '-' and '.' at most, and a key has 512 bytes of any
// kind: so a name is what of the key can be read in it, and a digest of all of it. The key itself
// stands in an annotation.
#pragma once

#include "engines/cas/store/medium.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::kubernetes {

// pawl-SLUG-DIGEST, pawl-fence-SLUG-DIGEST or pawl-marker-DIGEST. `name_space` is pawl's.
std::string object_name(std::string_view name_space, const cas::record_name& record);

// As the values of labels: of 63 bytes at most, that begin and end with a letter or a digit. A
// namespace that is no such value is its digest.
std::string label_of(std::string_view name_space);
std::string_view label_of(cas::record_kind kind);
// Of all records of one kind, as the query labelSelector takes it, not yet encoded.
std::string selector_of(std::string_view name_space, cas::record_kind kind);

// A key as an annotation, where it can be read unless it has control characters, '%', or bytes that
// are no UTF-8; and back. Nothing for a text that is no key.
std::string annotation_of(std::string_view key);
std::optional<std::string> key_of(std::string_view annotation);

}  // namespace pawl::kubernetes
