// A server of one process whose data outlives it, for tests.
#pragma once

#include "test_support/servers/process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

// Port and data stay the same for the life of the object.
class data_server {
public:
    virtual ~data_server() = default;
    data_server(const data_server&) = delete;
    data_server& operator=(const data_server&) = delete;

    std::uint16_t port() const noexcept { return port_; }

    // Starts it with the data that there is; returns when it serves.
    void start();
    // Stopped in good order, or killed, and started again with its data.
    void restart();
    void crash();
    // Killed, and started again with nothing.
    void lose_data();
    // Returns when it stands still.
    void freeze() const { server_.freeze(); }
    void thaw() const { server_.thaw(); }

protected:
    // A folder on a disk has extended attributes.
    explicit data_server(temporary_folder::storage where = temporary_folder::storage::memory);

    // Of the server's user; the data are in data(), which is made for each start.
    std::filesystem::path folder() const { return folder_.path(); }
    std::filesystem::path data() const { return folder_.path() / "data"; }
    std::filesystem::path log() const { return folder_.path() / "log"; }
    const std::string& user() const noexcept { return user_; }
    const process& server() const noexcept { return server_; }

private:
    virtual process launch() = 0;
    virtual bool serves() const = 0;
    // Puts into the folder what has to be there before it starts.
    virtual void prepare() const {}
    // Returns when all that it has answered is on its disk.
    virtual void save() {}

    temporary_folder folder_;
    const std::string user_;
    const std::uint16_t port_;
    int losses_ = 0;
    process server_;
};

}  // namespace pawl::testing_servers
