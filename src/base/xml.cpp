#include "base/xml.hpp"

#include "base/number.hpp"

#include <optional>
#include <utility>

namespace pawl::base {
namespace {

// What is behind the tag that opens an element, as far as the end of the text.
std::optional<std::string_view> behind_tag(std::string_view xml, const std::string& element) {
    for (auto at = xml.find("<" + element); at != std::string_view::npos;
         at = xml.find("<" + element, at + 1)) {
        const auto rest = xml.substr(at + 1 + element.size());
        const auto end = rest.find('>');
        if (end == std::string_view::npos) return std::nullopt;
        const bool same_name = rest[0] == '>' || rest[0] == ' ';
        if (same_name) return rest.substr(end + 1);
    }
    return std::nullopt;
}

void add_entity(std::string& made, std::string_view name) {
    constexpr std::pair<std::string_view, char> known[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [word, letter] : known)
        if (name == word) {
            made += letter;
            return;
        }
    std::optional<unsigned> code;
    if (name.starts_with("#x"))
        code = parse_number<unsigned>(name.substr(2), 16);
    else if (name.starts_with("#"))
        code = parse_number<unsigned>(name.substr(1));
    if (code && *code < 0x80)
        made += static_cast<char>(*code);
    else
        made += "&" + std::string{name} + ";";
}

std::string without_entities(std::string_view text) {
    std::string made;
    while (!text.empty()) {
        const auto at = text.find('&');
        made += text.substr(0, at);
        if (at == std::string_view::npos) break;
        text.remove_prefix(at + 1);
        const auto end = text.find(';');
        if (end == std::string_view::npos) return made + "&" + std::string{text};
        add_entity(made, text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return made;
}

}  // namespace

std::vector<std::string_view> elements_in(std::string_view xml, std::string_view element) {
    const std::string name{element};
    const auto closing = "</" + name + ">";
    std::vector<std::string_view> found;
    while (const auto rest = behind_tag(xml, name)) {
        const auto end = rest->find(closing);
        if (end == std::string_view::npos) break;
        found.push_back(rest->substr(0, end));
        xml = rest->substr(end + closing.size());
    }
    return found;
}

std::string text_in(std::string_view xml, std::string_view element) {
    const std::string name{element};
    const auto rest = behind_tag(xml, name);
    if (!rest) return {};
    const auto end = rest->find("</" + name + ">");
    return end == std::string_view::npos ? std::string{} : without_entities(rest->substr(0, end));
}

}  // namespace pawl::base
