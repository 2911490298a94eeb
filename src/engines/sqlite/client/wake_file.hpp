// Wakes the waiters of other processes: a file that is touched, watched through inotify(7).
#pragma once

#include <pawl/errors.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <optional>
#include <string>

namespace pawl::sqlite {

// Used on its loop only; made and closed anywhere.
class wake_file {
public:
    explicit wake_file(std::string path);
    ~wake_file();
    wake_file(const wake_file&) = delete;
    wake_file& operator=(const wake_file&) = delete;

    // Makes the file if it is not there, and watches it. Cheap when it does so already.
    std::optional<failure> watch();
    // A descriptor that becomes readable when the file was touched.
    boost::asio::posix::stream_descriptor listen(const boost::asio::io_context::executor_type& on);
    // Reads away what has happened so far.
    void drain();

private:
    const std::string path_;
    int events_ = -1;  // inotify's; made with the first watch, as a user may have few of them
};

}  // namespace pawl::sqlite
