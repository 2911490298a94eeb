#include "agent/file_watch.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <stdexcept>

namespace pawl::agent {
namespace {

namespace fs = std::filesystem;
using boost::asio::awaitable;
using namespace std::chrono_literals;

class FileWatch : public testing::Test {
protected:
    FileWatch() {
        std::string pattern = fs::temp_directory_path() / "pawl-watch-XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
        folder_ = pattern;
        write("pawl.toml", "one");
    }
    ~FileWatch() override {
        on_loop([&] { watch_.reset(); });
        fs::remove_all(folder_);
    }

    void write(const fs::path& name, const std::string& text) const {
        std::ofstream{folder_ / name} << text;
    }

    static awaitable<bool> call(const std::function<void()>& what) {
        what();
        co_return true;
    }
    void on_loop(const std::function<void()>& what) {
        auto calling = call(what);
        where_.wait_for(std::move(calling));
    }

    // The look that is due anyway is longer away than any of these tests takes.
    void watch(const fs::path& name) { watch_since(name, appearance_of(folder_ / name)); }
    void watch_since(const fs::path& name, const file_appearance& known) {
        on_loop([&] {
            watch_ = std::make_unique<file_watch>(where_, folder_ / name, known, 3'600'000ms);
        });
    }

    std::uint64_t looks() {
        std::uint64_t count = 0;
        on_loop([&] { count = watch_->looks(); });
        return count;
    }

    // Whether `change` is noticed, when it happens while a caller waits for it.
    void expect_told(const std::function<void()>& change) {
        const auto before = looks();
        auto told = begin();
        while (looks() == before) std::this_thread::yield();
        const auto begun = lease_clock::now();
        change();
        ASSERT_EQ(told.wait_for(60s), std::future_status::ready);
        EXPECT_TRUE(told.get());
        EXPECT_GE(lease_clock::now() - begun, file_settles_in);
    }

    std::future<bool> begin() {
        auto done = std::make_shared<std::promise<bool>>();
        on_loop([&] {
            boost::asio::co_spawn(
                where_.get_executor(), watch_->changed(),
                [done](std::exception_ptr, bool value) { done->set_value(value); });
        });
        return done->get_future();
    }

    fs::path folder_;
    net::loop where_;
    std::unique_ptr<file_watch> watch_;
};

TEST_F(FileWatch, NoticesAFileThatIsWrittenInPlace) {
    watch("pawl.toml");
    expect_told([&] { write("pawl.toml", "two"); });
    expect_told([&] { write("pawl.toml", "two and more"); });
}

TEST_F(FileWatch, NoticesAFileThatIsReplacedByRename) {
    watch("pawl.toml");
    for (const std::string text : {"two", "six", "ten"})
        expect_told([&] {
            write("pawl.toml.new", text);
            fs::rename(folder_ / "pawl.toml.new", folder_ / "pawl.toml");
        });
}

TEST_F(FileWatch, NoticesAFileThatIsDeletedAndComesBack) {
    watch("pawl.toml");
    expect_told([&] {
        fs::remove(folder_ / "pawl.toml");
        write("pawl.toml", "two");
    });
    fs::remove(folder_ / "pawl.toml");
    expect_told([&] { write("pawl.toml", "six"); });
}

// As a ConfigMap is mounted: pawl.toml -> ..data/pawl.toml, ..data -> ..version, which is switched
// by renaming a link.
TEST_F(FileWatch, NoticesALinkThatLeadsElsewhere) {
    for (const std::string version : {"..1", "..2"}) {
        fs::create_directory(folder_ / version);
        write(version + "/pawl.toml", version);
    }
    fs::remove(folder_ / "pawl.toml");
    fs::create_symlink("..1", folder_ / "..data");
    fs::create_symlink("..data/pawl.toml", folder_ / "pawl.toml");
    watch("pawl.toml");
    expect_told([&] {
        fs::create_symlink("..2", folder_ / "..data.new");
        fs::rename(folder_ / "..data.new", folder_ / "..data");
        fs::remove_all(folder_ / "..1");
    });
    expect_told([&] { write("..2/pawl.toml", "written in place"); });
}

TEST_F(FileWatch, FollowsALinkIntoAnotherFolder) {
    fs::create_directories(folder_ / "elsewhere" / "deep");
    write("elsewhere/deep/file", "one");
    fs::create_symlink(folder_ / "elsewhere" / ".." / "elsewhere" / "deep" / "file",
                       folder_ / "link.toml");
    watch("link.toml");
    expect_told([&] { write("elsewhere/deep/file", "two"); });
}

// Files that are written side by side with it, such as an embedded store's, cost nothing.
TEST_F(FileWatch, DoesNotLookBecauseOfOtherFiles) {
    watch("pawl.toml");
    expect_told([&] {
        for (int i = 0; i < 200; ++i) write("pawl.db", std::to_string(i));
        write("pawl.toml", "two");
    });
    EXPECT_LT(looks(), 20u);
}

// What happened while no caller waited is reported to the next that does.
TEST_F(FileWatch, TellsWhatHappenedBetweenTwoCalls) {
    watch("pawl.toml");
    write("pawl.toml", "two");
    EXPECT_TRUE(begin().get());
}

// What was written between the reading of the file and the watch is a change.
TEST_F(FileWatch, TellsWhatHappenedSinceTheFileWasRead) {
    const auto read = appearance_of(folder_ / "pawl.toml");
    write("pawl.toml", "two");
    watch_since("pawl.toml", read);
    EXPECT_TRUE(begin().get());
}

TEST_F(FileWatch, AFileThatIsNeverQuietIsToldAnyway) {
    watch("pawl.toml");
    // Where a busy machine keeps the writer off for a moment, it is quiet after all: then once
    // more.
    std::size_t writes = 0;
    for (int turn = 0; turn < 5 && writes <= 10; ++turn) {
        auto told = begin();
        writes = 0;
        while (told.wait_for(10ms) != std::future_status::ready && writes < 5000)
            write("pawl.toml", std::string(++writes % 50, 'x'));
        EXPECT_TRUE(told.get());
    }
    EXPECT_GT(writes, 10u);
}

TEST_F(FileWatch, AFileThatIsNotThereYetIsWaitedFor) {
    watch("later.toml");
    expect_told([&] { write("later.toml", "one"); });
}

// Links that lead in a circle, and what is no path at all, are files that are not there.
TEST_F(FileWatch, ACircleOfLinksIsNoFile) {
    fs::create_symlink("b", folder_ / "a");
    fs::create_symlink("a", folder_ / "b");
    watch("a");
    expect_told([&] {
        fs::remove(folder_ / "a");
        write("a", "one");
    });
}

TEST_F(FileWatch, EndsWhenToldTo) {
    watch("pawl.toml");
    auto told = begin();
    while (looks() == 0) std::this_thread::yield();
    on_loop([&] { watch_->stop(); });
    EXPECT_FALSE(told.get());
    EXPECT_FALSE(begin().get());
}

// The loop may end while a caller waits.
TEST(FileWatchAndItsLoop, EndTogether) {
    auto where = std::make_unique<net::loop>();
    std::unique_ptr<file_watch> watch;
    const auto spawn = [](net::loop& on, std::unique_ptr<file_watch>& made) -> awaitable<bool> {
        made = std::make_unique<file_watch>(on, "/nonexistent/pawl.toml", std::nullopt);
        boost::asio::co_spawn(on.get_executor(), made->changed(), [](std::exception_ptr, bool) {});
        co_return true;
    };
    auto spawning = spawn(*where, watch);
    where->wait_for(std::move(spawning));
    watch.reset();
    where.reset();
}

}  // namespace
}  // namespace pawl::agent
