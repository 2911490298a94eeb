// The files ~/.aws/credentials and ~/.aws/config, as the command line of AWS writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace pawl::aws {

using profile = std::map<std::string, std::string, std::less<>>;

// What the section of this name holds, in either file: [NAME] in the first, [profile NAME] in the
// second, where the default is [default]. The first file wins. Names are in lower case.
profile find_profile(std::string_view credentials, std::string_view config, std::string_view name);

}  // namespace pawl::aws
