#include "cli/commands/checkpoint_text.hpp"

#include <pawl/spi/journal.hpp>

#include "base/descriptor.hpp"
#include "cli/output/status.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace pawl::cli {
namespace {

std::string read(const std::string& text) {
    const base::descriptor from{::memfd_create("checkpoint", MFD_CLOEXEC)};
    EXPECT_EQ(::write(from.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::lseek(from.get(), 0, SEEK_SET);
    return read_checkpoint(from.get());
}

status fault_of(int descriptor) {
    try {
        read_checkpoint(descriptor);
    } catch (const exit_error& fault) {
        return fault.code();
    }
    return status::done;
}

TEST(CheckpointText, IsWhatWasWrittenWithoutTheLineEndBehindIt) {
    EXPECT_EQ(read("invoice 4711\n"), "invoice 4711");
    EXPECT_EQ(read("a\nb\n\n"), "a\nb\n");
    EXPECT_EQ(read("a"), "a");
    EXPECT_EQ(read("\n"), "");
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
    const base::descriptor zeros{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(read_checkpoint(zeros.get()).size(), checkpoint_bytes_max + 2);
}

// Goal: a good checkpoint is not lost to a bad one. Method: input that cannot be read, and none.
TEST(CheckpointText, WhatCannotBeReadIsNone) {
    const base::descriptor folder{::open("/", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(fault_of(folder.get()), status::io_error);
    const base::descriptor nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(fault_of(nothing.get()), status::usage);
}

}  // namespace
}  // namespace pawl::cli
