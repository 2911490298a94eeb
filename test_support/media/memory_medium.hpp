// A medium in the memory of the tests: honest compare-and-swap, or one of two kinds of lie, with a
// clock, delays, losses and late writes as a test wants them.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "net/attachment.hpp"
#include "net/loop.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::testing_media {

using cas::micros;

// Whether a table keeps the conditions of writes.
enum class honesty {
    keeps_conditions,
    ignores_conditions,  // and answers that all is well
    looks_before         // and writes a little later, whatever happened in between
};

// What becomes of one request.
enum class fate {
    answered,
    request_lost,  // and the client knows that it never left
    answer_lost,
    late,       // the answer is lost, and the write happens when the table is told to deliver
    unanswered  // nothing happens, and the client does not know
};

// Which answers to writes carry the time, where any answer does.
enum class write_stamps { all, where_asked, none };

// The records of one namespace, which several media share. Thread-safe, but for its settings, which
// are made before the first request.
class record_table {
public:
    using kind_and_key = std::pair<cas::record_kind, std::string>;

    record_table();

    // Settings
    std::function<micros()> clock;  // the wall clock of this machine, unless changed
    cas::medium_traits traits;      // its clock_step is kept by the stamps
    honesty how = honesty::keeps_conditions;
    std::string identity = "table";
    // All answered, unless set. Of lists those of journals, under their prefix.
    std::function<fate(bool writes, const cas::record_name&)> fates;
    std::function<std::chrono::nanoseconds()> delay;  // none, unless set
    bool carries_stamps = true;
    write_stamps stamps_writes = write_stamps::all;

    struct row {
        std::string text;
        std::uint64_t rev = 0;
    };
    cas::seen read(const cas::record_name& name);
    bool write(const cas::change& what, cas::version* now);
    bool erase(const cas::record_name& name, const cas::version& expected);
    cas::listing list(cas::record_kind kind, const std::string& prefix, const std::string& after,
                      std::size_t limit);

    // Whatever stands there.
    void put(const cas::record_name& name, std::string text);
    void clear();
    void keep_late(cas::change what);
    // The late writes arrive; how many there were.
    std::size_t deliver();
    // Requests for this key fail until it is unblocked.
    void block(const std::string& key, bool blocked);
    bool is_blocked(const cas::record_name& name) const;

    // Requests that were made: reads, conditional writes, and requests with many of them.
    struct requests {
        int reads = 0, writes = 0, batches = 0, lists = 0, prepared = 0;
    };
    requests count() const;
    void counted(int requests::* which);

    class waiting;
    std::unique_ptr<waiting> wait(const std::shared_ptr<record_table>& self,
                                  const cas::record_name& name, const cas::version& known,
                                  std::function<void()> ring);

private:
    void change_row(const kind_and_key& name, const std::string* text);

    mutable std::mutex mutex_;
    // Under mutex_
    std::map<kind_and_key, row> rows_;
    std::uint64_t revs_ = 0;
    std::vector<cas::change> late_;
    std::set<std::string> blocked_;
    std::multimap<kind_and_key, std::function<void()>> waiters_;
    requests count_;
};

// The one of this process with this name, which is made with these traits.
std::shared_ptr<record_table> table_named(const std::string& name,
                                          const cas::medium_traits& traits);

std::shared_ptr<cas::medium> make_memory_medium(net::loop& where, std::shared_ptr<record_table> on);

}  // namespace pawl::testing_media
