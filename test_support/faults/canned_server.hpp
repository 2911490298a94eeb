// A server that says what it was told to say, whatever it is asked: another protocol, an old
// version.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_faults {

// Thread-safe; runs on a thread of its own until its end.
class canned_server {
public:
    // Says the next line whenever something arrives; the last one again and again. Without lines
    // it takes connections and stays silent.
    explicit canned_server(std::vector<std::string> lines);
    ~canned_server();
    canned_server(const canned_server&) = delete;
    canned_server& operator=(const canned_server&) = delete;

    std::uint16_t port() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace pawl::testing_faults
