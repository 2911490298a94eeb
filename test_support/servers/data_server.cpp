#include "test_support/servers/data_server.hpp"

namespace pawl::testing_servers {

data_server::data_server(temporary_folder::storage where)
    : folder_{where}, user_{server_user({"nobody"})}, port_{free_port()} {
    hand_over(folder_.path(), user_);
}

void data_server::start() {
    std::filesystem::create_directory(data());
    hand_over(data(), user_);
    prepare();
    server_ = launch();
    wait_until_ready(server_, log(), [this] { return serves(); });
}

void data_server::restart() {
    save();
    server_.stop();
    start();
}

void data_server::crash() {
    save();
    server_.kill();
}

void data_server::lose_data() {
    server_.kill();
    // To remove thousands of files takes seconds; they go with the folder.
    std::filesystem::rename(data(), folder() / ("lost-" + std::to_string(++losses_)));
    start();
}

}  // namespace pawl::testing_servers
