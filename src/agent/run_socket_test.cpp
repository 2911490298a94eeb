#include "agent/body_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>

namespace pawl::agent {
namespace {

using testing::HasSubstr;

// What a run says by its socket, without pawl: one line, and what comes back.
std::string speaking(const std::string& request) {
    return "python3 -c \"import os,socket,sys;p=socket.socket(socket.AF_UNIX);p.settimeout(20);"
           "p.connect(os.environ['PAWL_RUN_SOCKET']);p.sendall(os.fsencode(sys.argv[1]));"
           "print(p.recv(65536).decode())\" '" +
           request + "'";
}

const std::string mine = R"("run": "8c5e0b6e-run", "fence_token": 42)";

// A checkpoint arrives byte by byte as it was given, and only under the run's own id and token.
TEST(RunSocket, SavesWhatTheRunSaysUnderItsOwnToken) {
    body_trial fixture;
    std::vector<std::string> saved;
    auto order = order_of();
    order.save_checkpoint = [&saved](std::string text) -> async<bool> {
        saved.push_back(std::move(text));
        co_return saved.size() == 1;
    };
    const auto said = [&](const std::string& request) {
        return fixture.run(shell(speaking(request)), order).output;
    };
    const std::string text = R"({"verb": "checkpoint", "bytes": 3, )" + mine + "}\n\x01\"\xc3";
    EXPECT_EQ(said(text), "{\"answer\":\"saved\"}\n\n");
    EXPECT_THAT(saved, testing::ElementsAre("\x01\"\xc3"));
    EXPECT_EQ(said(text), "{\"answer\":\"stale\"}\n\n");
    const auto other = said(R"({"verb": "checkpoint", "run": "8c5e0b6e-run", "fence_token": 41})"
                            "\n");
    EXPECT_THAT(other, HasSubstr("\"rejected\""));
    EXPECT_EQ(saved.size(), 2u);
}

// The command ends with 77 for it, as where it asks the journal itself; of a journal that is away
// it is told as that.
TEST(RunSocket, ACheckpointBehindThatOfANewerRunIsRejectedWithTheReason) {
    body_trial fixture;
    auto why = errc::rejected;
    auto order = order_of();
    order.save_checkpoint = [&why](std::string) -> async<bool> {
        co_return failure{why, "a newer run has saved one"};
    };
    const std::string text = R"({"verb": "checkpoint", "bytes": 1, )" + mine + "}\na";
    const auto said = [&] { return fixture.run(shell(speaking(text)), order).output; };
    EXPECT_THAT(said(), HasSubstr(R"("answer":"rejected","detail":"not saved: a newer run has)"));
    why = errc::unreachable;
    EXPECT_THAT(said(), HasSubstr(R"("answer":"failed","error":"unreachable")"));
}

// It would come back cut off, in a variable of the next command.
TEST(RunSocket, SavesNoTextThatNoCommandCanBeGiven) {
    body_trial fixture;
    std::vector<std::string> saved;
    auto order = order_of();
    order.save_checkpoint = [&saved](std::string text) -> async<bool> {
        saved.push_back(std::move(text));
        co_return true;
    };
    // printf(1) of the shell would end it too.
    const std::string speaks =
        "python3 -c \"import os,socket,sys;p=socket.socket(socket.AF_UNIX);p.settimeout(20);"
        "p.connect(os.environ['PAWL_RUN_SOCKET']);"
        "p.sendall(os.fsencode(sys.argv[1])+b'\\na\\0b');print(p.recv(65536).decode())\" '";
    const auto told =
        fixture.run(shell(speaks + R"({"verb": "checkpoint", "bytes": 3, )" + mine + "}'"), order)
            .output;
    EXPECT_THAT(told, HasSubstr(R"("answer":"failed","error":"rejected")"));
    EXPECT_THAT(told, HasSubstr("NUL at byte 2"));
    EXPECT_THAT(saved, testing::IsEmpty());
}

// The fence of the store is reached with the run's own token or an older one, never a newer.
TEST(RunSocket, ChecksFencesUpToTheRunsOwnToken) {
    body_trial fixture;
    std::vector<std::uint64_t> checked;
    fixture.check_fences_by([&](std::string, fence_token token, fence_rule) -> async<fence_result> {
        checked.push_back(number(token));
        co_return fence_result{true, token};
    });
    const auto said = [&](const std::string& token) {
        return fixture
            .run(shell(speaking(R"({"verb": "fence", "resource": "r", "token": )" + token + ", " +
                                mine + "}\n")))
            .output;
    };
    EXPECT_EQ(said("42"),
              "{\"answer\":\"judged\",\"accepted\":true,\"newest\":42,\"never_issued\":false}\n\n");
    EXPECT_EQ(said("7"),
              "{\"answer\":\"judged\",\"accepted\":true,\"newest\":7,\"never_issued\":false}\n\n");
    EXPECT_THAT(said("43"), HasSubstr("newer than the run's own"));
    EXPECT_THAT(said("-1"), HasSubstr("\"rejected\""));
    EXPECT_THAT(checked, testing::ElementsAre(42u, 7u));
}

// A run that asks for fences, and which of its resources came through.
struct fence_trial {
    body_trial fixture;
    std::vector<std::string> checked;

    fence_trial() {
        fixture.check_fences_by(
            [this](std::string resource, fence_token token, fence_rule) -> async<fence_result> {
                checked.push_back(resource);
                co_return fence_result{true, token};
            });
    }
    std::string said(const std::string& resource) {
        return fixture
            .run(shell(speaking(R"({"verb": "fence", "token": 42, "resource": ")" + resource +
                                "\", " + mine + "}\n")))
            .output;
    }
};

// Goal: no run shuts another job's work out, nor an agent, by a token that is newer than theirs.
TEST(RunSocket, OfReservedNamesARunHasItsOwnJobsAlone) {
    fence_trial trial;
    for (const auto* allowed : {"ledger", "job/trial", "job/trial/3", "jobs"})
        EXPECT_THAT(trial.said(allowed), HasSubstr("\"judged\"")) << allowed;
    for (const auto* reserved : {"job/other", "job/trial-2", "job/", "pawl/reconciler"}) {
        const auto answer = trial.said(reserved);
        EXPECT_THAT(answer, HasSubstr("is reserved")) << reserved;
        EXPECT_THAT(answer, HasSubstr("denied")) << reserved;
    }
    EXPECT_THAT(trial.checked, testing::ElementsAre("ledger", "job/trial", "job/trial/3", "jobs"));
}

// The store keeps every resource that was ever checked, so that a run has a bound; one that it has
// checked before it may check again.
TEST(RunSocket, ARunChecksABoundedNumberOfResources) {
    fence_trial trial;
    const std::string asks = R"(python3 -c '
import json, os, socket, sys
def ask(name):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(60)
    peer.connect(os.environ["PAWL_RUN_SOCKET"])
    asked = dict(verb="fence", run="8c5e0b6e-run", fence_token=42, token=42, resource=name)
    peer.sendall(json.dumps(asked).encode() + b"\n")
    return peer.recv(65536).decode()
for number in range(int(sys.argv[1])):
    assert "judged" in ask(str(number)), number
print(ask("one more"), ask("0"))
' )";
    const auto told = trial.fixture.run(shell(asks + std::to_string(run_resources_max))).output;
    EXPECT_THAT(told, HasSubstr("different resources at most"));
    EXPECT_THAT(told, HasSubstr("\"judged\""));
    EXPECT_EQ(trial.checked.size(), run_resources_max + 1);
    EXPECT_EQ(trial.checked.back(), "0");
}

// The API and `pawl fence check` accept no such names either.
TEST(RunSocket, AResourceThatNoKeyMayBeIsRejected) {
    fence_trial trial;
    const std::string escape = R"(\u001b[31m)", nul = R"(a\u0000b)", turned = R"(a\u202eb)";
    for (const auto& bad : {std::string{}, escape, nul, turned, std::string(600, 'x')}) {
        const auto answer = trial.said(bad);
        EXPECT_THAT(answer, HasSubstr("\"rejected\"")) << bad;
        EXPECT_THAT(answer, HasSubstr("resource: ")) << bad;
    }
    EXPECT_THAT(trial.checked, testing::IsEmpty());
}

// Goal: an agent that has run nothing for days serves its runs. Method: its folder goes, as by a
// cleaner of old files; then something else is in its place.
TEST(RunSocket, IsThereAgainOnceItsFolderIsGoneAndElseTheLogSaysSo) {
    body_trial fixture;
    std::vector<std::string> told;
    fixture.log_by([&](log_level, std::string_view line) { told.emplace_back(line); });
    const auto& folder = fixture.guards().folder();
    std::filesystem::remove_all(folder);
    EXPECT_EQ(fixture.run(shell("test -S \"$PAWL_RUN_SOCKET\" && echo there")).output, "there\n");
    EXPECT_THAT(told, testing::IsEmpty());
    std::filesystem::remove_all(folder);
    std::filesystem::create_symlink("/tmp", folder);
    EXPECT_EQ(fixture.run(shell("echo \"'$PAWL_RUN_SOCKET'\"")).output, "''\n");
    EXPECT_THAT(told, testing::ElementsAre(
                          "run without its socket job=trial run=8c5e0b6e-run: it cannot save "
                          "checkpoints or check fences: " +
                          folder + ": Permission denied"));
    std::filesystem::remove(folder);
}

// Each has a socket of its own, closed to other users, that goes with it.
TEST(RunSocket, IsThereForTheRunAlone) {
    body_trial fixture;
    const auto shown = fixture.run(shell("stat -c %a \"$PAWL_RUN_SOCKET\"; echo $PAWL_RUN_SOCKET"));
    ASSERT_THAT(shown.output, testing::StartsWith("600\n/"));
    const auto path = shown.output.substr(4, shown.output.size() - 5);
    EXPECT_FALSE(std::filesystem::exists(path));
    struct stat folder{};
    ASSERT_EQ(stat(fixture.guards().folder().c_str(), &folder), 0);
    EXPECT_EQ(folder.st_mode & 07777, 0711u);
}

}  // namespace
}  // namespace pawl::agent
