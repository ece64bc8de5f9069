#include "api/settings_file.hpp"

#include "machine/read_file.hpp"
#include "machine/toml_section.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace weft::api {

namespace {

constexpr const char* table_name = "settings";

/// Before any other key: a file of another version may have other keys.
void check_version(const toml::table& whole, std::string_view name) {
    const std::string allowed = fmt::format("version = {}", settings_version);
    const toml::node* const version = whole.get("version");
    const auto number = version ? version->value_exact<std::int64_t>() : std::nullopt;
    if (number == settings_version) return;
    const auto line = version ? version->source().begin.line : 1;
    throw error(fmt::format("{}:{}: version: the settings file has another version than this library reads",
                            name, line),
                number    ? fmt::format("version = {}", *number)
                : version ? "a version that is no whole number"
                          : "no version",
                allowed);
}

std::string value_of(const toml_section& s, const settings_key& k) {
    if (s.is_string(k.key) ? k.is_text : !k.is_number) return s.text(k.key);
    return fmt::format("{}", s.whole(k.key, 0, std::numeric_limits<std::int64_t>::max()));
}

} // namespace

std::vector<file_setting> parse_settings(std::string_view text, std::string_view name) {
    const toml::table parsed = parse_toml_table(text, name);
    // [advice] is what `weft advise` found, for people and tools: it changes nothing here.
    check_version(parsed, name);
    const toml_section top(parsed, std::string(name), "", {"version", table_name, "advice"});
    if (top.has("advice") && !parsed["advice"].is_table()) top.refuse("advice", "wrong type", "a table");
    const auto section = top.table(
        table_name, {"policy", "workers", "active", "pin", "spin", "stack", "waiting", "preempt", "seed"});
    std::vector<file_setting> found;
    if (!section) top.refuse(table_name, "the file has no settings", "none", "a table [settings]");
    for (const settings_key& k : settings_keys) {
        if (!section->has(k.key)) continue;
        std::string value = value_of(*section, k);
        std::string given = fmt::format("{} = {} in {}", k.key, value, name);
        found.push_back({.of = &k, .value = std::move(value), .given = std::move(given)});
    }
    return found;
}

std::vector<file_setting> load_settings(const std::filesystem::path& file) {
    const std::string text =
        read_file(file, "the settings file", "a TOML file, see docs/advise.md", "WEFT_SETTINGS=");
    return parse_settings(text, file.string());
}

} // namespace weft::api
