#include "time/zone.hpp"

#include "time/rfc3339.hpp"
#include "time/zone_calendar.hpp"
#include "time/zone_file.hpp"
#include "time/zone_rule.hpp"

#include <date/tz.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace pawl::time {
namespace {

wall_instant at(std::string_view text) { return parse_rfc3339(text).value(); }

zone in(std::string_view name) { return zone::find(name).value(); }

TEST(Zone, IsFoundByItsNameOrSuggested) {
    EXPECT_EQ(zone{}.name(), "UTC");
    EXPECT_EQ(in("UTC"), zone{});
    EXPECT_EQ(in("Europe/Paris"), in("Europe/Paris"));
    EXPECT_NE(in("Europe/Paris"), in("Europe/Berlin"));
    const auto misspelt = zone::find("Europe/Pariss");
    ASSERT_TRUE(misspelt.has_error());
    EXPECT_NE(misspelt.error().what.find("'Europe/Paris'?"), std::string::npos)
        << misspelt.error().what;
    EXPECT_NE(zone::find("europe/paris").error().what.find("'Europe/Paris'?"), std::string::npos);
    for (const auto* name : {"", "Mars/Olympus_Mons", "../../etc/passwd", "tzdata.zi", "\n"}) {
        const auto found = zone::find(name);
        ASSERT_TRUE(found.has_error()) << name;
        EXPECT_EQ(found.error().what.find('\n'), std::string::npos) << found.error().what;
    }
}

TEST(Zone, KnowsItsOffsetAtEveryInstant) {
    const auto paris = in("Europe/Paris");
    using std::chrono::hours;
    EXPECT_EQ(paris.offset_at(at("2026-07-01T00:00:00Z")), hours{2});
    EXPECT_EQ(paris.offset_at(at("2026-10-25T00:59:59.999Z")), hours{2});
    EXPECT_EQ(paris.offset_at(at("2026-10-25T01:00:00Z")), hours{1});
    EXPECT_EQ(in("Asia/Kathmandu").offset_at(at("2026-07-01T00:00:00Z")),
              std::chrono::minutes{345});
    for (const auto when : {wall_instant::min(), wall_instant::max()})
        EXPECT_EQ(zone{}.offset_at(when), hours{0});
}

// Goal: a file is read as the date library reads it. Method: each zone of this machine, at both
// ends of every range that the library knows until its rules begin.
TEST(Zone, HasTheOffsetsThatTheDateLibraryReads) {
    using namespace std::chrono;
    const sys_seconds end = sys_days{year{2037} / 1 / 1};
    int compared = 0;
    for (const auto& one : date::get_tzdb().zones) {
        const auto found = zone::find(one.name());
        ASSERT_TRUE(found.has_value()) << one.name();
        for (sys_seconds when = sys_days{year{1850} / 1 / 1}; when < end; ++compared) {
            const auto info = one.get_info(when);
            ASSERT_EQ(found->offset_at(when), info.offset) << one.name() << when.time_since_epoch();
            if (info.end >= end) break;
            ASSERT_EQ(found->offset_at(info.end - seconds{1}), info.offset) << one.name();
            when = info.end;
        }
    }
    EXPECT_GT(compared, 10'000);
}

// Goal: what governments decide while a process lives is heard of. Method: a zone of our own, whose
// file is replaced.
TEST(Zone, AReloadReadsWhatHasChangedAndKeepsOldHandlesAsTheyWere) {
    namespace files = std::filesystem;
    const auto folder = files::temp_directory_path() / ("pawl-zones-" + std::to_string(getpid()));
    files::create_directories(folder / "Test");
    ASSERT_EQ(setenv("TZDIR", folder.c_str(), 1), 0);
    const auto becomes = [&](const char* like) {
        files::copy_file(std::string{"/usr/share/zoneinfo/"} + like, folder / "Test/Place",
                         files::copy_options::overwrite_existing);
    };
    const auto when = at("2026-07-01T00:00:00Z");
    becomes("Asia/Tokyo");
    const auto before = in("Test/Place");
    EXPECT_EQ(before.offset_at(when), std::chrono::hours{9});
    zone::reload();
    EXPECT_EQ(in("Test/Place"), before);
    becomes("Europe/Paris");
    EXPECT_EQ(in("Test/Place"), before);
    zone::reload();
    EXPECT_NE(in("Test/Place"), before);
    EXPECT_EQ(in("Test/Place").offset_at(when), std::chrono::hours{2});
    EXPECT_EQ(before.offset_at(when), std::chrono::hours{9});
    // One that is gone, or broken, stays as it was known.
    files::resize_file(folder / "Test/Place", 50);
    zone::reload();
    EXPECT_EQ(in("Test/Place").offset_at(when), std::chrono::hours{2});
    unsetenv("TZDIR");
    files::remove_all(folder);
}

// Goal: no file can lead the reader out of itself. Method: a real one, cut off at every length, and
// with each of its bytes set to what counts far too much.
TEST(Zone, AFileThatIsCutOffOrBrokenIsNone) {
    std::ifstream file{"/usr/share/zoneinfo/Europe/Paris", std::ios::binary};
    const std::string whole{std::istreambuf_iterator<char>{file}, {}};
    ASSERT_TRUE(parse_zone_file(whole));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(parse_zone_file(std::string_view{whole}.substr(0, size))) << size;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        auto broken = whole;
        broken[i] = '\x7f';
        const auto read = parse_zone_file(broken);
        EXPECT_TRUE(!read || !read->stretches.empty());
    }
}

TEST(Zone, TheDatabaseSaysItsVersion) {
    ASSERT_TRUE(std::filesystem::exists("/usr/share/zoneinfo/tzdata.zi"))
        << "tools/setup installs tzdata";
    EXPECT_TRUE(zone::database_version().starts_with("20")) << zone::database_version();
}

TEST(Zone, AVersionCarriesThatOfItsZones) {
    const auto both = with_zones("1.2.3", "2026a");
    EXPECT_EQ(both, "1.2.3+tzdata.2026a");
    EXPECT_EQ(split_zones(both).version, "1.2.3");
    EXPECT_EQ(split_zones(both).zones, "2026a");
    EXPECT_EQ(with_zones("1.2.3", ""), "1.2.3");
    EXPECT_EQ(split_zones("1.2.3").version, "1.2.3");
    EXPECT_EQ(split_zones("1.2.3").zones, "");
}

TEST(Zone, FollowsItsRuleWhereItsFileEnds) {
    const auto offset = [](const char* name, const char* when) {
        return in(name).offset_at(at(when));
    };
    using std::chrono::hours;
    using std::chrono::minutes;
    EXPECT_EQ(offset("America/New_York", "2050-03-13T06:59:59Z"), -hours{5});
    EXPECT_EQ(offset("America/New_York", "2050-03-13T07:00:00Z"), -hours{4});
    EXPECT_EQ(offset("America/New_York", "2050-11-06T05:59:59Z"), -hours{4});
    EXPECT_EQ(offset("America/New_York", "2050-11-06T06:00:00Z"), -hours{5});
    EXPECT_EQ(offset("Australia/Lord_Howe", "2090-01-01T00:00:00Z"), hours{11});
    EXPECT_EQ(offset("Australia/Lord_Howe", "2090-07-01T00:00:00Z"), minutes{630});
    EXPECT_EQ(offset("Asia/Tokyo", "2090-07-01T00:00:00Z"), hours{9});
}

TEST(Zone, HasARuleThatAgreesWithTheLastYearsOfItsTable) {
    // Files list the changes up to 2037, the last of them by the rule. A rule that was misread
    // would differ there.
    using namespace std::chrono;
    const sys_seconds begin = sys_days{year{2030} / 1 / 1};
    const sys_seconds end = sys_days{year{2037} / 1 / 1};
    // 28 years, within which no century ends: the same days of the week.
    constexpr days calendar_repeats{10'227};
    int with_rule = 0;
    for (const auto& one : date::get_tzdb().zones) {
        if (one.name().find('/') == std::string::npos) continue;
        const auto found = zone::find(one.name());
        ASSERT_TRUE(found.has_value()) << one.name() << ": " << found.error().what;
        const auto& stretches = found->offsets().stretches;
        // Where the rule goes on, so do the stretches.
        if (stretches.back().begin < sys_days{year{2390} / 1 / 1}) continue;
        // Nor where changes go by the moon, and are listed to 2086.
        if (one.get_info(sys_seconds{sys_days{year{2045} / 1 / 1}}).begin > end + years{1})
            continue;
        ++with_rule;
        std::vector<std::pair<seconds, seconds>> listed, later;
        for (const auto& stretch : stretches) {
            if (stretch.begin >= begin && stretch.begin < end)
                listed.emplace_back(stretch.begin.time_since_epoch(), stretch.offset);
            const auto earlier = stretch.begin - calendar_repeats;
            if (earlier >= begin && earlier < end)
                later.emplace_back(earlier.time_since_epoch(), stretch.offset);
        }
        EXPECT_EQ(listed, later) << one.name();
        EXPECT_EQ(listed.size(), 14u) << one.name();
    }
    EXPECT_GT(with_rule, 100);
}

TEST(ZoneRule, ReadsWhatFilesSay) {
    for (const auto* text :
         {"EST5EDT,M3.2.0,M11.1.0", "IST-1GMT0,M10.5.0,M3.5.0/1", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
          "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "IST-2IDT,M3.4.4/26,M10.5.0",
          "XXX3EDT4,0/0,J365/23"}) {
        const auto rule = zone_rule::parse(text);
        ASSERT_TRUE(rule.has_value()) << text;
        EXPECT_EQ(rule->in(std::chrono::year{2050}).size(), 2u) << text;
    }
    for (const auto* text : {"UTC0", "<+01>-1", "JST-9"}) {
        const auto rule = zone_rule::parse(text);
        ASSERT_TRUE(rule.has_value()) << text;
        EXPECT_TRUE(rule->in(std::chrono::year{2050}).empty()) << text;
    }
}

TEST(ZoneRule, IsNothingWhenItIsMalformed) {
    for (const auto* text :
         {"", "X", "EST", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
          "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,M3.2.0,M11.1.0,", "EST999",
          "<+01-1", "EST5EDT,J0,J365", "EST5EDT,M3.2.0/200,M11.1.0", "EST5:60"})
        EXPECT_FALSE(zone_rule::parse(text).has_value()) << text;
}

TEST(ZoneRule, CountsDaysInItsThreeForms) {
    using namespace std::chrono;
    const auto begins = [](const char* text, int in_year) {
        const auto first = zone_rule::parse(text).value().in(year{in_year}).front().begin;
        return format_rfc3339(wall_instant{first});
    };
    EXPECT_EQ(begins("AAA0BBB,J60/0,J300", 2048), "2048-03-01T00:00:00.000Z");
    EXPECT_EQ(begins("AAA0BBB,59/0,J300", 2048), "2048-02-29T00:00:00.000Z");
    EXPECT_EQ(begins("AAA0BBB,59/0,J300", 2049), "2049-03-01T00:00:00.000Z");
    EXPECT_EQ(begins("AAA0BBB,M2.5.1,J300", 2048), "2048-02-24T02:00:00.000Z");
}

}  // namespace
}  // namespace pawl::time
