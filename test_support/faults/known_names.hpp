// Names of hosts that this program knows beside those of the system, and that may hang.
//
// A program that links this has a getaddrinfo() that stands before the system's, for C clients as
// well.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace pawl::testing_faults {

// Thread-safe.
class known_names {
public:
    static known_names& instance();

    // The name leads there from now on.
    void set(const std::string& name, const std::string& address);
    // Who asks for the name waits until go_on().
    void hang(const std::string& name);
    void go_on();
    // How often it was asked for so far.
    int asked(const std::string& name);
    // Whether somebody waits for the name within ten seconds.
    bool wait_for_question(const std::string& name);

    // What the system is to be asked for instead.
    std::string look_up(const std::string& name);

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    // Under mutex_
    std::map<std::string, std::string> addresses_;
    std::map<std::string, int> asked_;
    std::map<std::string, int> waiting_;
    std::set<std::string> hanging_;
};

}  // namespace pawl::testing_faults
