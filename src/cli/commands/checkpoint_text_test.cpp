#include "cli/commands/checkpoint_text.hpp"

#include <pawl/spi/journal.hpp>

#include <gtest/gtest.h>

#include <istream>
#include <sstream>
#include <streambuf>
#include <string>

namespace pawl::cli {
namespace {

// As /dev/zero.
class endless : public std::streambuf {
public:
    std::size_t taken() const noexcept { return taken_; }

protected:
    int_type underflow() override {
        taken_ += sizeof piece_;
        setg(piece_, piece_, piece_ + sizeof piece_);
        return traits_type::to_int_type(piece_[0]);
    }

private:
    char piece_[512] = {};
    std::size_t taken_ = 0;
};

std::string read(const std::string& text) {
    std::istringstream from{text};
    return read_checkpoint(from);
}

TEST(CheckpointText, IsWhatWasWrittenWithoutTheLineEndBehindIt) {
    EXPECT_EQ(read("invoice 4711\n"), "invoice 4711");
    EXPECT_EQ(read("a\nb\n\n"), "a\nb\n");
    EXPECT_EQ(read("a"), "a");
    EXPECT_EQ(read("\n"), "");
    EXPECT_EQ(read(""), "");
    const std::string longest(checkpoint_bytes_max, 'x');
    EXPECT_EQ(read(longest), longest);
    EXPECT_EQ(read(longest + '\n'), longest);
}

TEST(CheckpointText, IsTooLongWhereItWas) {
    const std::string longer(checkpoint_bytes_max + 1, 'x');
    EXPECT_GT(read(longer).size(), checkpoint_bytes_max);
    EXPECT_GT(read(longer + '\n').size(), checkpoint_bytes_max);
    EXPECT_GT(read(longer + "\nmore").size(), checkpoint_bytes_max);
    EXPECT_GT(read(longer.substr(1) + "\n\n").size(), checkpoint_bytes_max);
}

TEST(CheckpointText, TakesNoMoreOfAnEndlessOneThanItMustToKnow) {
    endless zeros;
    std::istream from{&zeros};
    EXPECT_GT(read_checkpoint(from).size(), checkpoint_bytes_max);
    EXPECT_LE(zeros.taken(), checkpoint_bytes_max + 1'024);
}

}  // namespace
}  // namespace pawl::cli
