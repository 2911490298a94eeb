#include "engines/postgresql/journal/journal_rows.hpp"

#include "engines/rules/journal/sql_rows.hpp"

namespace pawl::postgresql {
namespace {

constexpr int run_columns = 22;

// The rows one by one, as engines/rules/journal/sql_rows.hpp looks at them.
class rows_in_turn {
public:
    explicit rows_in_turn(const rows& all) : all_{all} {}

    bool next() { return ++row_ < all_.count(); }
    std::string_view text(unsigned column) const { return all_.bytes(row_, at(column)); }
    std::int64_t integer(unsigned column) const { return all_.integer(row_, at(column)); }
    bool is_null(unsigned column) const { return all_.is_null(row_, at(column)); }

private:
    static int at(unsigned column) { return static_cast<int>(column); }

    const rows& all_;
    int row_ = -1;
};

// REQUIRES: `columns` of them are what `read` looks at.
template <class Read>
auto all_in(const rows& got, int columns, Read read)
    -> std::optional<std::vector<decltype(read(std::declval<const rows_in_turn&>()))>> {
    if (got.columns() != columns) return std::nullopt;
    rows_in_turn each{got};
    return journals::all_of(each, read);
}

}  // namespace

std::uint64_t place_in(const rows& got, int row) {
    return static_cast<std::uint64_t>(got.integer(row, 0));
}

std::optional<std::vector<run_record>> runs_in(const rows& got) {
    if (got.columns() != run_columns) return std::nullopt;
    rows_in_turn each{got};
    return journals::runs_in(each);
}

std::optional<std::vector<run_event>> events_in(const rows& got) {
    return all_in(got, 6, journals::event_at<rows_in_turn>);
}

std::optional<output_part> output_in(const rows& got, std::uint64_t offset, std::size_t bytes_max) {
    if (got.columns() != 4) return std::nullopt;
    rows_in_turn each{got};
    return journals::output_in(each, offset, bytes_max);
}

std::optional<control_state> control_state_in(const rows& got) {
    if (got.columns() != 1 + run_columns) return std::nullopt;
    rows_in_turn each{got};
    return journals::control_state_in(each);
}

std::optional<std::vector<job_entry>> jobs_in(const rows& got) {
    return all_in(got, 8, journals::job_at<rows_in_turn>);
}

std::optional<std::vector<node_entry>> nodes_in(const rows& got) {
    return all_in(got, 11, journals::node_at<rows_in_turn>);
}

std::optional<std::vector<audit_entry>> audit_in(const rows& got) {
    return all_in(got, 8, journals::audit_at<rows_in_turn>);
}

}  // namespace pawl::postgresql
