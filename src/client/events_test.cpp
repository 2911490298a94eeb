#include "client/events.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::client {
namespace {

std::vector<event> all_of(event_reader& reader) {
    std::vector<event> found;
    for (auto next = reader.next().value(); next; next = reader.next().value())
        found.push_back(*next);
    return found;
}

// Goal: how the network cuts a stream never matters. Method: it is cut at every byte, with each
// kind of line end.
TEST(Events, AreTheSameHoweverTheyAreCut) {
    for (const std::string end : {"\n", "\r\n", "\r"}) {
        const auto text = "id: 7" + end + "event: output" + end + "data: {\"a\":" + end +
                          "data:1}" + end + end + ":" + end + end + "data: x" + end + end + "\n";
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            event_reader reader;
            reader.take(text.substr(0, cut));
            auto found = all_of(reader);
            reader.take(text.substr(cut));
            for (auto& one : all_of(reader)) found.push_back(one);
            ASSERT_EQ(found.size(), 2U) << cut;
            EXPECT_EQ(found[0].name, "output");
            EXPECT_EQ(found[0].data, "{\"a\":\n1}");
            EXPECT_EQ(found[0].id, "7");
            EXPECT_EQ(found[1].name, "message");
            EXPECT_EQ(found[1].data, "x");
            EXPECT_EQ(found[1].id, "7");
        }
    }
}

// Goal: a stream that is no stream of events does not fill the memory.
TEST(Events, WithoutAnEndAreRejected) {
    event_reader reader;
    reader.take("data: " + std::string(event_bytes_max, 'x'));
    const auto found = reader.next();
    ASSERT_TRUE(found.has_error());
    EXPECT_EQ(found.error().code, errc::protocol);
}

}  // namespace
}  // namespace pawl::client
