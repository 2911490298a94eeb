// The reference of the configuration keeps up with the code.
#include "config/config_fixture.hpp"
#include "config/fields.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace pawl::config {
namespace {

using row = std::vector<std::string>;

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? ""
                                      : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string without_ticks(std::string text) {
    std::erase(text, '`');
    return text;
}

// The cells of "| a | b |"; a '|' within a cell is written "\|".
row cells_of(const std::string& line) {
    row cells;
    std::string cell;
    for (std::size_t at = 1; at < line.size(); ++at) {
        if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == '|')
            cell += line[++at];
        else if (line[at] == '|')
            cells.push_back(trimmed(std::exchange(cell, {})));
        else
            cell += line[at];
    }
    return cells;
}

// "SECTION KEY" to the rest of its row, from the tables below "## `SECTION`".
std::map<std::string, row> rows_of_the_page() {
    std::ifstream page{REFERENCE};
    EXPECT_TRUE(page.is_open()) << REFERENCE;
    std::map<std::string, row> rows;
    std::string line, section;
    while (std::getline(page, line)) {
        if (line.starts_with("## ")) section = without_ticks(line.substr(3));
        if (!line.starts_with("| `")) continue;
        row cells = cells_of(line);
        const auto name = section + " " + without_ticks(cells[0]);
        cells.erase(cells.begin());
        EXPECT_TRUE(rows.emplace(name, cells).second) << "twice: " << name;
    }
    return rows;
}

std::string or_dash(const std::string& text) { return text.empty() ? "—" : text; }

// Key by key, in both directions, with type, default and bound.
TEST(Reference, SaysWhatTheCodeDoes) {
    auto rows = rows_of_the_page();
    for (const auto& key : known_keys()) {
        const auto name = (key.section == "the file" ? "The file" : key.section) + " " + key.name;
        const auto found = rows.find(name);
        if (found == rows.end()) {
            ADD_FAILURE() << "not on the page: | `" << key.name << "` | " << key.type << " | "
                          << or_dash(key.fallback) << " | " << or_dash(key.bound) << " | in "
                          << key.section;
            continue;
        }
        const row& cells = found->second;
        EXPECT_EQ(cells.size(), 4u) << name;
        if (cells.size() == 4) {
            EXPECT_EQ(cells[0], key.type) << name;
            EXPECT_EQ(without_ticks(cells[1]), or_dash(key.fallback)) << name;
            EXPECT_EQ(without_ticks(cells[2]), or_dash(without_ticks(key.bound))) << name;
            EXPECT_GT(cells[3].size(), 10u) << name << " is not explained";
        }
        rows.erase(found);
    }
    for (const auto& [name, cells] : rows) ADD_FAILURE() << "no such key: " << name;
}

std::string sample(const std::string& section, const std::string& line) {
    if (section == "the file") return line;
    if (section == "[agent]") return "[agent]\nname='n'\n" + line;
    return section + "\nname='n'\ncommand=['x']\n" + line;
}

// A default that the reference shows is what a file gets that does not say it.
TEST(Reference, ShowsTheDefaultsThatHold) {
    std::size_t checked = 0;
    for (const auto& key : known_keys()) {
        if (key.fallback.empty() || key.fallback == "required") continue;
        const auto said = sample(key.section, key.name + " = " + key.fallback);
        EXPECT_EQ(read_whole(said), read_whole(sample(key.section, ""))) << said;
        ++checked;
    }
    EXPECT_GT(checked, 25u);
}

// Each key of a job can be changed, and the change is seen: no list of keys forgets one.
TEST(Reference, EveryJobKeyIsComparedOnReload) {
    std::set<std::string> names;
    for (const auto& one : job_fields()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        job_settings job;
        EXPECT_TRUE(one.same(job, job)) << one.name;
    }
}

// The files of the page are read as they stand.
TEST(Reference, ItsExamplesAreRead) {
    const test_folder here;
    here.write("invoices.env", "SMTP_PASSWORD=x\n");
    std::ifstream page{REFERENCE};
    std::string line, text;
    bool inside = false;
    int examples = 0;
    while (std::getline(page, line)) {
        if (line == "```toml") {
            inside = true;
            text.clear();
        } else if (line == "```" && inside) {
            inside = false;
            ++examples;
            const auto read = read_configuration(text, here.path() / "pawl.toml");
            EXPECT_TRUE(read.usable()) << describe(read)[0] << text;
        } else if (inside) {
            text += line + "\n";
        }
    }
    EXPECT_EQ(examples, 2);
}

}  // namespace
}  // namespace pawl::config
