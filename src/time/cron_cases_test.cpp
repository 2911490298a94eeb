// The cases of test_support/cron, which were gathered from the tests of other schedulers: goal,
// that an expression means here what it means there; method, every case is asked, and each that
// does not hold is named by its id. The few that contradict the others stand in exceptions.json,
// with the reason, and must still fail: an exception that is none any more is to be removed.
#include "time/cron.hpp"
#include "time/rfc3339.hpp"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <fstream>
#include <map>
#include <sstream>

namespace pawl::time {
namespace {

namespace json = boost::json;

json::array read(const std::string& name) {
    std::ifstream file{std::string{PAWL_CRON_CASES} + "/" + name};
    std::ostringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_array();
}

std::string text_of(const json::object& from, const char* name) {
    return json::value_to<std::string>(from.at(name));
}

std::map<std::string, std::string> exceptions() {
    std::map<std::string, std::string> reasons;
    for (const auto& one : read("exceptions.json"))
        reasons[text_of(one.as_object(), "id")] = text_of(one.as_object(), "reason");
    return reasons;
}

// What is wrong with the case, or nothing.
std::string judge(const json::object& one) {
    const auto parsed = cron::parse(text_of(one, "expr"));
    if (parsed.has_error())
        return "rejected at column " + std::to_string(parsed.error().column) + ": " +
               parsed.error().what;
    const auto where = zone::find(text_of(one, "zone"));
    if (where.has_error()) return where.error().what;
    const transitions policy{
        text_of(one, "gap") == "skip" ? gap_time::skip : gap_time::end,
        text_of(one, "repeat") == "twice" ? repeated_time::twice : repeated_time::once};
    auto at = parse_rfc3339_of_any_year(text_of(one, "from"));
    if (at.has_error()) return "from: " + at.error().what;
    for (const auto& expected : one.at("next").as_array()) {
        const auto wanted = parse_rfc3339_of_any_year(expected.as_string());
        if (wanted.has_error()) return "next: " + wanted.error().what;
        const auto next = parsed->next(*at, *where, policy);
        if (!next) return "nothing after " + format_rfc3339(*at);
        if (*next != *wanted)
            return "after " + format_rfc3339(*at) + " came " + format_rfc3339(*next) + ", not " +
                   format_rfc3339(*wanted);
        at = *next;
    }
    return {};
}

TEST(CronCases, FireAsOtherSchedulersDo) {
    const auto reasons = exceptions();
    std::size_t excepted = 0;
    for (const auto& value : read("cases.json")) {
        const auto& one = value.as_object();
        const auto id = text_of(one, "id");
        const auto wrong = judge(one);
        if (reasons.count(id) != 0) {
            ++excepted;
            EXPECT_NE(wrong, "") << id << " holds, so it is no exception";
        } else {
            EXPECT_EQ(wrong, "") << id << ": " << json::serialize(value);
        }
    }
    EXPECT_EQ(excepted, reasons.size()) << "an exception for a case that there is not";
}

TEST(CronCases, AreRejectedWithTheColumnAndWhatWouldBeRight) {
    const auto all = read("invalid.json");
    EXPECT_GT(all.size(), 100u);
    for (const auto& value : all) {
        const auto text = text_of(value.as_object(), "expr");
        const auto parsed = cron::parse(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        const auto& fault = parsed.error();
        EXPECT_LE(fault.column, text.size()) << text;
        EXPECT_EQ(fault.what.find('\n'), std::string::npos) << text;
        EXPECT_GT(fault.what.size(), 20u) << text << ": " << fault.what;
        // The column is that of the fault: it is never in a blank before the end of the text.
        if (fault.column < text.size()) {
            EXPECT_NE(text[fault.column], '\t') << text;
        }
    }
}

}  // namespace
}  // namespace pawl::time
