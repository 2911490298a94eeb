// Where things lie in the tree: keys as names of znodes, spread over buckets.
//
// A key is any text without control characters, but a znode's name holds no '/', is neither "." nor
// "..", and must be Unicode. So every byte that is not plain is written as %XX, which leaves keys
// readable in zkCli.sh. The children of one znode come in one reply, so keys are spread over 64
// buckets by a hash: a reply of 100,000 keys would be larger than most clients take.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::zookeeper {

std::string encode_name(std::string_view key);
// Empty: pawl encodes no key like that.
std::optional<std::string> decode_name(std::string_view name);

// Two hexadecimal digits. Never changes, or records would be lost.
std::string bucket_of(std::string_view key);

// A record's child whose name no other record ever has.
constexpr std::string_view origin_prefix = "origin-";
inline bool is_origin(std::string_view name) { return name.starts_with(origin_prefix); }

// The paths of one namespace.
class layout {
public:
    layout(std::string_view chroot, std::string_view name_space)
        : root_{std::string{chroot} + "/" + encode_name(name_space)} {}

    const std::string& root() const noexcept { return root_; }
    std::string locks() const { return root_ + "/locks"; }
    std::string fences() const { return root_ + "/fences"; }
    std::string clock() const { return root_ + "/clock"; }
    std::string record_of(std::string_view key) const { return below(locks(), key); }
    std::string fence_of(std::string_view resource) const { return below(fences(), resource); }

private:
    static std::string below(std::string folder, std::string_view key) {
        folder.append("/").append(bucket_of(key)).append("/").append(encode_name(key));
        return folder;
    }

    std::string root_;
};

// "/a/b/c" lies in "/a/b".
std::string parent_of(const std::string& path);

}  // namespace pawl::zookeeper
