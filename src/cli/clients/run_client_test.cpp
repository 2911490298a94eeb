#include "cli/clients/run_client.hpp"

#include "base/descriptor.hpp"
#include "cli/output/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace pawl::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The socket of a run whose pawl stands still: it listens, and takes nothing.
class frozen_pawl {
public:
    explicit frozen_pawl(int backlog) {
        std::string path = "/tmp/pawl-frozen-XXXXXX";
        folder_ = ::mkdtemp(path.data());
        path += "/socket";
        where_.sun_family = AF_UNIX;
        path.copy(where_.sun_path, sizeof where_.sun_path - 1);
        EXPECT_EQ(::bind(socket_.get(), address(), sizeof where_), 0);
        EXPECT_EQ(::listen(socket_.get(), backlog), 0);
        ::setenv("PAWL_RUN_SOCKET", path.c_str(), 1);
        ::setenv("PAWL_RUN_ID", "run-1", 1);
    }
    ~frozen_pawl() {
        ::unsetenv("PAWL_RUN_SOCKET");
        ::unsetenv("PAWL_RUN_ID");
        std::filesystem::remove_all(folder_);
    }
    frozen_pawl(const frozen_pawl&) = delete;
    frozen_pawl& operator=(const frozen_pawl&) = delete;

    base::descriptor taken_place() const {
        base::descriptor other{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(::connect(other.get(), address(), sizeof where_), 0);
        return other;
    }

private:
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&where_); }

    std::string folder_;
    sockaddr_un where_{};
    base::descriptor socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

std::string said_of_a_checkpoint() {
    auto client = run_client::inside_run({});
    client->answer_timeout = 200ms;
    try {
        client->save_checkpoint("half-way");
    } catch (const exit_error& error) {
        EXPECT_EQ(error.code(), status::unavailable);
        return error.what();
    }
    return "saved";
}

// Goal: a command inside a run does not hang because the pawl that runs it does.
TEST(RunClient, APawlThatStandsStillIsWaitedForAsLongAsItMayTake) {
    const frozen_pawl frozen{16};
    EXPECT_THAT(said_of_a_checkpoint(), HasSubstr("no answer from the pawl process"));
}

TEST(RunClient, ThatManyAskAlreadyIsNoReasonToWaitForLonger) {
    const frozen_pawl frozen{0};
    const auto other = frozen.taken_place();
    EXPECT_THAT(said_of_a_checkpoint(), HasSubstr("no answer from the pawl process"));
}

}  // namespace
}  // namespace pawl::cli
