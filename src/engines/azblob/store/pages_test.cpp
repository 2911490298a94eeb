#include "engines/azblob/store/pages.hpp"

#include <gtest/gtest.h>

namespace pawl::azblob {
namespace {

using cas::record_kind;

TEST(Pages, AreReadAsAzureWritesThem) {
    const auto page = read_page(
        "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults "
        "ServiceEndpoint=\"https://mine.blob.core.windows.net/\" ContainerName=\"c\"><Prefix>"
        "pawl/l/</Prefix><MaxResults>2</MaxResults><Blobs><Blob><Name>pawl/l/co</Name>"
        "<Properties><Etag>0x8D1</Etag><BlobType>BlockBlob</BlobType></Properties><Metadata>"
        "<key>f</key><record>1 lease owner=a&amp;amp;b</record></Metadata></Blob><Blob>"
        "<Name>pawl/l/cpng</Name><Properties><Etag>&quot;0x8D2&quot;</Etag></Properties>"
        "<Metadata /></Blob></Blobs><NextMarker>2!92!MD</NextMarker></EnumerationResults>");
    ASSERT_TRUE(page.has_value());
    ASSERT_EQ(page->blobs.size(), 2U);
    EXPECT_EQ(page->blobs[0].name, "pawl/l/co");
    EXPECT_EQ(page->blobs[0].tag, "0x8D1");
    EXPECT_EQ(page->blobs[0].record, "1 lease owner=a&amp;b");
    EXPECT_EQ(page->blobs[1].tag, "0x8D2");
    EXPECT_EQ(page->blobs[1].record, "");
    EXPECT_EQ(page->next, "2!92!MD");
    const auto last = read_page("<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>");
    ASSERT_TRUE(last.has_value());
    EXPECT_TRUE(last->blobs.empty());
    EXPECT_EQ(last->next, "");
    EXPECT_FALSE(read_page("<html>").has_value());
}

TEST(Pages, MarkersAreTakenOnceAndTheNewestAreKept) {
    const cas::list_order all{record_kind::lease, "", "b", 10};
    markers known;
    EXPECT_EQ(known.take(all), "");
    known.keep(all, "b", "behind b");
    EXPECT_EQ(known.take({record_kind::fence, "", "b", 10}), "");
    EXPECT_EQ(known.take({record_kind::lease, "b", "b", 10}), "");
    EXPECT_EQ(known.take({record_kind::lease, "", "a", 10}), "");
    EXPECT_EQ(known.take(all), "behind b");
    EXPECT_EQ(known.take(all), "");
    known.keep(all, "b", "behind b");
    for (int i = 0; i < 8; ++i) known.keep(all, std::to_string(i), "other");
    EXPECT_EQ(known.take(all), "");
    EXPECT_EQ(known.take({record_kind::lease, "", "7", 10}), "other");
}

}  // namespace
}  // namespace pawl::azblob
