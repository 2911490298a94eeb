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
    // Of this database: the file takes its mode, and its owner where root makes it, as SQLite's own
    // files do.
    wake_file(std::string path, std::string database);
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
    void make() const;

    const std::string path_, database_;
    int events_ = -1;  // inotify's; made with the first watch, as a user may have few of them
};

}  // namespace pawl::sqlite
