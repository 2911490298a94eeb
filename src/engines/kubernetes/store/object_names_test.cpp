#include "engines/kubernetes/store/object_names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl::kubernetes {
namespace {

using cas::record_kind;

std::string lease_name(const std::string& key) {
    return object_name("pawl", {record_kind::lease, key});
}

// As RFC 1123 has it for subdomains, without dots.
bool is_object_name(const std::string& name) {
    if (name.empty() || name.size() > 253) return false;
    for (const char letter : name)
        if (letter != '-' && !(letter >= '0' && letter <= '9') && !(letter >= 'a' && letter <= 'z'))
            return false;
    return name.front() != '-' && name.back() != '-';
}

// Layouts are for ever: what is written now is found by the pawl of next year.
TEST(KubernetesNames, ANameShowsWhatCanBeReadOfTheKeyAndADigestOfAllOfIt) {
    // printf 'pawl\0lease\0jobs/Nightly report' | sha256sum | cut -c1-16
    EXPECT_EQ(lease_name("jobs/Nightly report"), "pawl-jobs-nightly-report-14fb93b632ea12fd");
    EXPECT_EQ(object_name("pawl", {record_kind::marker, ""}), "pawl-marker-49c80b6153e119d0");
}

TEST(KubernetesNames, EveryKeyHasAName) {
    for (const auto& key :
         {std::string{"a"}, std::string(512, 'X'), std::string{"///"}, std::string{"\xff\xfe"},
          std::string{"zürich"}, std::string{"-a-"}, std::string{"a..b"}})
        EXPECT_TRUE(is_object_name(lease_name(key))) << lease_name(key);
    EXPECT_LE(lease_name(std::string(512, 'x')).size(), 63u) << "of use as a label as well";
}

TEST(KubernetesNames, KeysNamespacesAndKindsAreToldApart) {
    std::set<std::string> names;
    for (const auto& key : {"a/b", "a-b", "A-b", "a b"}) names.insert(lease_name(key));
    names.insert(object_name("other", {record_kind::lease, "a/b"}));
    names.insert(object_name("pawl", {record_kind::fence, "a/b"}));
    EXPECT_EQ(names.size(), 6u);
}

TEST(KubernetesNames, ANamespaceThatIsNoLabelIsItsDigest) {
    EXPECT_EQ(label_of("pawl"), "pawl");
    EXPECT_EQ(label_of("a_b.c-d"), "a_b.c-d");
    EXPECT_EQ(label_of(".hidden").size(), 16u);
    EXPECT_EQ(label_of(std::string(64, 'n')).size(), 16u);
    EXPECT_EQ(selector_of("pawl", record_kind::fence),
              "pawl.dev/namespace=pawl,pawl.dev/kind=fence");
}

TEST(KubernetesNames, AKeyComesBackFromItsAnnotation) {
    for (const auto& key : {std::string{"jobs/nightly"}, std::string{"zürich"}, std::string{"100%"},
                            std::string{"\xff\x80"}, std::string{"a\tb"}})
        EXPECT_EQ(key_of(annotation_of(key)), key);
    EXPECT_EQ(annotation_of("zürich/a b"), "zürich/a b");
    EXPECT_EQ(annotation_of("\xff"), "%FF");
    EXPECT_EQ(key_of("%zz"), std::nullopt);
}

}  // namespace
}  // namespace pawl::kubernetes
