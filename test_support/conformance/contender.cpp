#include "test_support/conformance/contender.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <system_error>
#include <thread>

namespace pawl::conformance {
namespace {

constexpr int threads_each = 8;
constexpr auto contention_timeout = 2min;  // for a sanitizer on a busy machine
constexpr millis expiring_ttl_min{30};
constexpr const char* marker = "--contender";

std::map<std::string, address_opener>& openers() {
    static std::map<std::string, address_opener> known;
    return known;
}

void note_token(witness& seen, fence_token token) {
    if (seen.newest.exchange(number(token)) >= number(token)) ++seen.tokens_fallen;
}

// Said as well as counted: a child has no test of its own that could tell why.
void note_failure(witness& seen, const failure& why) {
    ++seen.failures;
    std::fprintf(stderr, "contender: %.*s: %s\n", static_cast<int>(name_of(why.code).size()),
                 name_of(why.code).data(), why.detail.c_str());
}

// Nobody else may be inside from the grant to the release.
void work_and_release(client& through, const contention_plan& what, witness& seen,
                      fence_token token) {
    if (seen.inside.fetch_add(1) != 0) ++seen.overlaps;
    note_token(seen, token);
    std::this_thread::yield();
    seen.inside.fetch_sub(1);
    const auto released = through.release(what.key, token);
    if (released.has_error())
        note_failure(seen, released.error());
    else if (!*released)
        note_failure(seen, {errc::protocol, "a live lease could not be released"});
}

void work_and_let_expire(witness& seen, fence_token token, instant sent, instant received) {
    const auto place = seen.turns_taken.fetch_add(1);
    if (place >= witness::turns_max) return;
    seen.turns[place] = {number(token), sent.time_since_epoch().count(),
                         received.time_since_epoch().count()};
}

void contend(client& through, const contention_plan& what, witness& seen) {
    const auto give_up = lease_clock::now() + contention_timeout;
    const auto ttl = what.how == contention::by_release ? millis{30s} : expiring_ttl(through);
    while (seen.grants < what.grants_wanted && lease_clock::now() < give_up) {
        const auto wanted = fresh_claim(what.key, ttl);
        const auto sent = lease_clock::now();
        const auto answer = through.acquire(wanted);
        const auto received = lease_clock::now();
        if (answer.has_error()) {
            note_failure(seen, answer.error());
            continue;
        }
        if (const auto* held = std::get_if<busy>(&*answer)) {
            through.wait_change(what.key, held->holder,
                                std::clamp<millis>(held->remaining, 1ms, 20ms));
            continue;
        }
        const auto token = std::get<grant>(*answer).token;
        if (what.how == contention::by_release)
            work_and_release(through, what, seen, token);
        else
            work_and_let_expire(seen, token, sent, received);
        ++seen.grants;
    }
}

}  // namespace

bool register_opener(const std::string& engine, address_opener open) {
    return openers().emplace(engine, open).second;
}

shared_witness::shared_witness()
    : path_{std::filesystem::temp_directory_path() / "pawl-witness-XXXXXX"}, mine_{true} {
    auto name = path_.string();
    const int file = mkstemp(name.data());
    if (file < 0 || ftruncate(file, sizeof(witness)) != 0)
        throw std::system_error{errno, std::generic_category(), name};
    path_ = name;
    void* page = mmap(nullptr, sizeof(witness), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) throw std::system_error{errno, std::generic_category(), name};
    page_ = new (page) witness{};
}

shared_witness::shared_witness(const std::filesystem::path& existing)
    : path_{existing}, mine_{false} {
    const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    void* page = mmap(nullptr, sizeof(witness), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) throw std::system_error{errno, std::generic_category(), path_};
    page_ = static_cast<witness*>(page);
}

shared_witness::~shared_witness() {
    munmap(page_, sizeof(witness));
    if (mine_) unlink(path_.c_str());
}

void contend_here(client& through, const contention_plan& what, witness& seen) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < threads_each; ++i)
        threads.emplace_back([&] { contend(through, what, seen); });
}

int contend_in_children(int processes, const contention_plan& what, const shared_witness& seen) {
    std::vector<std::string> words{"conformance",
                                   marker,
                                   what.engine,
                                   what.address,
                                   what.name_space,
                                   what.key,
                                   what.how == contention::by_release ? "release" : "expiry",
                                   std::to_string(what.grants_wanted),
                                   seen.path().string()};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int bad = 0;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
        pid_t child = 0;
        if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0)
            children.push_back(child);
        else
            ++bad;
    }
    for (const auto child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++bad;
    }
    return bad;
}

millis expiring_ttl(const client& through) {
    return std::max(expiring_ttl_min, through.traits().ttl_min);
}

std::uint64_t overlapping_turns(const witness& seen, millis ttl) {
    const auto count = std::min<std::uint64_t>(seen.turns_taken, witness::turns_max);
    std::vector<turn> turns{seen.turns.begin(),
                            seen.turns.begin() + static_cast<std::ptrdiff_t>(count)};
    std::sort(turns.begin(), turns.end(),
              [](const turn& a, const turn& b) { return a.token < b.token; });
    const auto trusted = std::chrono::nanoseconds{ttl}.count();
    std::uint64_t overlaps = 0;
    for (std::size_t i = 1; i < turns.size(); ++i) {
        const bool same = turns[i].token == turns[i - 1].token;
        if (same || turns[i].received < turns[i - 1].sent + trusted) ++overlaps;
    }
    return overlaps;
}

std::optional<int> contender_main(const std::vector<std::string>& arguments) {
    if (arguments.size() != 9 || arguments[1] != marker) return std::nullopt;
    contention_plan what;
    what.engine = arguments[2];
    what.address = arguments[3];
    what.name_space = arguments[4];
    what.key = arguments[5];
    what.how = arguments[6] == "release" ? contention::by_release : contention::by_expiry;
    what.grants_wanted = std::stoull(arguments[7]);
    const auto open = openers().find(what.engine);
    if (open == openers().end()) return 1;
    const shared_witness seen{std::filesystem::path{arguments[8]}};
    store_settings settings;
    settings.name_space = what.name_space;
    settings.timeout = 20s;
    client mine{[&](net::loop& where) { return open->second(where, what.address, settings); }};
    contend_here(mine, what, *seen);
    return 0;
}

}  // namespace pawl::conformance
