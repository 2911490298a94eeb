// The API's document against the API: what one has, the other has.
#include "api/bare_api_fixture.hpp"
#include "base/ascii.hpp"
#include "engines/memory/journal/memory_journal.hpp"
#include "openapi_json.hpp"

#include <boost/json.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

namespace pawl::api {
namespace {

namespace json = boost::json;

class Document : public BareApi {
protected:
    Document()
        : BareApi{[](net::loop& where) {
              return pawl::memory::make_memory_journal(where, "pawl", store_settings{});
          }} {}

    static std::string upper(std::string_view text) {
        std::string made{text};
        std::transform(made.begin(), made.end(), made.begin(),
                       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        return made;
    }

    // GET /api/v1/locks/{key} → who may.
    std::map<std::string, std::string> documented() const {
        std::map<std::string, std::string> all;
        for (const auto& [path, methods] : document_.at("paths").as_object())
            for (const auto& [method, operation] : methods.as_object())
                all[upper(method) + " " + std::string{path}] =
                    operation.at("x-pawl-access").as_string().c_str();
        return all;
    }

    std::map<std::string, std::string> routed() const {
        static constexpr std::string_view words[]{"open", "viewer", "client", "operator", "admin"};
        std::map<std::string, std::string> all;
        for (const auto& one : api_->all()) {
            auto path = one.pattern;
            path.erase(std::remove(path.begin(), path.end(), '*'), path.end());
            all[one.method + " " + path] = words[static_cast<std::size_t>(one.needs)];
        }
        return all;
    }

    json::object document_ = json::parse(embedded::openapi_json).as_object();
};

// Both directions at once: no route without its operation, no operation without its route, and the
// same word for who may.
TEST_F(Document, HasEachRouteAndNoOther) {
    EXPECT_THAT(documented(), testing::ContainerEq(routed()));
}

// What a user may have too many of is rejected with 429, which programs have to expect.
TEST_F(Document, TellsWhatMayBeTooMany) {
    for (const auto& one : api_->all()) {
        if (one.costs != cost::much) continue;
        auto path = one.pattern;
        path.erase(std::remove(path.begin(), path.end(), '*'), path.end());
        const auto method = base::lower(one.method);
        const auto& operation = document_.at("paths").at(path).at(method).as_object();
        EXPECT_TRUE(operation.at("responses").as_object().contains("429")) << path;
    }
}

// Every reference leads somewhere, and every schema is used.
TEST_F(Document, NamesSchemasThatExistAndUsesThemAll) {
    std::set<std::string> used;
    const auto text = json::serialize(document_);
    constexpr std::string_view mark = "\"#/components/schemas/";
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
        const auto begin = at + mark.size();
        used.insert(text.substr(begin, text.find('"', begin) - begin));
    }
    std::set<std::string> known;
    for (const auto& [name, schema] : document_.at("components").at("schemas").as_object())
        known.insert(std::string{name});
    EXPECT_EQ(used, known);
}

// A parameter in a path stands in the list of parameters, and the other way round.
TEST_F(Document, DeclaresWhatItsPathsTake) {
    for (const auto& [path, methods] : document_.at("paths").as_object())
        for (const auto& [method, operation] : methods.as_object()) {
            std::set<std::string> declared, taken;
            if (const auto* list = operation.as_object().if_contains("parameters"))
                for (const auto& one : list->as_array())
                    if (one.at("in").as_string() == "path")
                        declared.insert(one.at("name").as_string().c_str());
            const std::string text{path};
            for (auto open = text.find('{'); open != std::string::npos;
                 open = text.find('{', open + 1))
                taken.insert(text.substr(open + 1, text.find('}', open) - open - 1));
            EXPECT_EQ(declared, taken) << method << ' ' << text;
        }
}

}  // namespace
}  // namespace pawl::api
