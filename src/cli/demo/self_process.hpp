// Other processes of this same program, for commands that show how nodes behave.
#pragma once

#include "exec/descriptor.hpp"

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace pawl::cli {

// Runs this program again, with these words, and reads what it says line by line. Killed with it.
class self_process {
public:
    // `input` is what it finds on its standard input: a secret, which others could read among its
    // words.
    self_process(std::string name, const std::vector<std::string>& words,
                 const std::string& input = {});
    ~self_process();
    self_process(self_process&& other) noexcept;
    self_process& operator=(self_process&&) = delete;

    const std::string& name() const noexcept { return name_; }
    pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;

    // To be polled; closed once it has said everything.
    bool is_talking() const noexcept { return output_.is_open(); }
    int descriptor() const noexcept { return output_.get(); }
    // Reads what is there, and hands over each complete line.
    void read(const std::function<void(const std::string& line)>& take);

    // Waits for its end, which comes by SIGKILL if it is still talking. True if it ended by itself
    // with status 0.
    bool end();

private:
    std::string name_;
    pid_t pid_ = -1;
    exec::descriptor output_;
    std::string unread_;
};

}  // namespace pawl::cli
