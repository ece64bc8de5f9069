#include "machine/toml_section.hpp"
#include "machine/toml_traps.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace weft {

namespace {

std::string shown(const toml::node& node) {
    if (const auto* text = node.as_string()) return fmt::format("\"{}\"", text->get());
    if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* array = node.as_array()) return fmt::format("an array of {}", array->size());
    if (node.is_table()) return "a table";
    return "a date or time";
}

std::string shown(number_range range) {
    if (range.above_zero) return fmt::format("a finite number above 0, at most {}", range.most);
    return fmt::format("a finite number, {} to {}", range.least, range.most);
}

struct byte_unit {
    std::string_view name;
    double bytes;
};

constexpr byte_unit byte_units[] = {
    {"B", 1},
    {"KiB", 1024.0},
    {"MiB", 1024.0 * 1024},
    {"GiB", 1024.0 * 1024 * 1024},
    {"TiB", 1024.0 * 1024 * 1024 * 1024},
    {"kB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
};
constexpr double most_bytes = 1152921504606846976.0; // 2^60
constexpr const char* bytes_allowed = "a whole number of bytes, 1 to 2^60, or a string such as \"38.5 MiB\" "
                                      "(B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)";

// Empty where the text is no size; no range check.
std::optional<double> parse_bytes(std::string_view text) {
    double value = 0;
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (failure != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    for (const byte_unit& unit : byte_units) {
        if (text == unit.name) return value * unit.bytes;
    }
    return std::nullopt;
}

} // namespace

toml_section::toml_section(const toml::table& table, std::string file, std::string path,
                           std::initializer_list<const char*> keys)
    : table_(&table)
    , file_(std::move(file))
    , path_(std::move(path)) {
    for (const char* key : keys) keys_ += fmt::format("{}{}", keys_.empty() ? "" : ", ", key);
    for (auto&& [key, value] : table) {
        const auto known = std::find(keys.begin(), keys.end(), key.str());
        if (known == keys.end()) refuse_at(key.source().begin, key.str(), "unknown key", key.str(), keys_);
    }
}

std::string toml_section::path_of(std::string_view key) const {
    if (path_.empty()) return std::string(key);
    return key.empty() ? path_ : fmt::format("{}.{}", path_, key);
}

void toml_section::refuse_at(toml::source_position where, std::string_view key, std::string_view what,
                             std::string_view given, std::string_view allowed) const {
    throw error(fmt::format("{}:{}: {}: {}", file_, where.line, path_of(key), what), given, allowed);
}

void toml_section::refuse(std::string_view key, std::string_view what, std::string_view given,
                          std::string_view allowed) const {
    const toml::node* node = key.empty() ? nullptr : table_->get(key);
    toml::source_position where = node != nullptr ? node->source().begin : table_->source().begin;
    if (where.line == 0) where.line = 1;
    refuse_at(where, key, what, given, allowed);
}

void toml_section::refuse(std::string_view key, std::string_view what, std::string_view allowed) const {
    const toml::node* node = table_->get(key);
    refuse(key, what, node != nullptr ? shown(*node) : "nothing", allowed);
}

const toml::node& toml_section::required(std::string_view key, std::string_view type) const {
    const toml::node* node = table_->get(key);
    if (node == nullptr) refuse(key, "missing key", "nothing", type);
    return *node;
}

bool toml_section::is_array(std::string_view key) const {
    const toml::node* node = table_->get(key);
    return node != nullptr && node->is_array();
}

bool toml_section::is_string(std::string_view key) const {
    const toml::node* node = table_->get(key);
    return node != nullptr && node->is_string();
}

std::size_t toml_section::length(std::string_view key) const {
    const toml::node* node = table_->get(key);
    return node != nullptr && node->is_array() ? node->as_array()->size() : 0;
}

std::string toml_section::text(std::string_view key) const {
    const auto* value = required(key, "a string").as_string();
    if (value == nullptr) refuse(key, "wrong type", "a string");
    if (value->get().empty()) refuse(key, "empty", "a string that is not empty");
    return value->get();
}

std::string toml_section::text(std::string_view key, std::string_view otherwise) const {
    return has(key) ? text(key) : std::string(otherwise);
}

std::string toml_section::one_of(std::string_view key, std::initializer_list<const char*> allowed) const {
    std::string value = text(key);
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
    std::string list;
    for (const char* word : allowed) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", word);
    refuse(key, "not one of the words known here", list);
}

bool toml_section::boolean(std::string_view key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const auto* value = required(key, "true or false").as_boolean();
    if (value == nullptr) refuse(key, "wrong type", "true or false");
    return value->get();
}

std::int64_t toml_section::whole(std::string_view key, std::int64_t least, std::int64_t most) const {
    const std::string allowed = fmt::format("a whole number, {} to {}", least, most);
    const auto* value = required(key, allowed).as_integer();
    if (value == nullptr) refuse(key, "wrong type", allowed);
    if (value->get() < least || value->get() > most) refuse(key, "out of range", allowed);
    return value->get();
}

int toml_section::count(std::string_view key, int least, int most) const {
    return static_cast<int>(whole(key, least, most));
}

int toml_section::count(std::string_view key, int least, int most, int otherwise) const {
    return has(key) ? count(key, least, most) : otherwise;
}

double toml_section::number_in(const toml::node& node, const std::string& key, number_range range) const {
    const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value) refuse_at(node.source().begin, key, "wrong type", shown(node), shown(range));
    if (!range.contains(*value))
        refuse_at(node.source().begin, key, "out of range", shown(node), shown(range));
    return *value;
}

double toml_section::number(std::string_view key, number_range range) const {
    return number_in(required(key, shown(range)), std::string(key), range);
}

double toml_section::number(std::string_view key, number_range range, double otherwise) const {
    return has(key) ? number(key, range) : otherwise;
}

std::optional<double> toml_section::maybe_number(std::string_view key, number_range range) const {
    if (!has(key)) return std::nullopt;
    return number(key, range);
}

std::vector<double> toml_section::numbers(std::string_view key, number_range range) const {
    std::vector<double> values;
    if (!has(key)) return values;
    const toml::array* array = required(key, "an array").as_array();
    if (array == nullptr) refuse(key, "wrong type", "an array of numbers");
    for (std::size_t i = 0; i < array->size(); ++i) {
        values.push_back(number_in(*array->get(i), fmt::format("{}[{}]", key, i), range));
    }
    return values;
}

std::vector<std::vector<int>> toml_section::lists(std::string_view key, int least, int most) const {
    const std::string allowed = fmt::format("an array of arrays of whole numbers, {} to {}", least, most);
    std::vector<std::vector<int>> values;
    const toml::array* array = required(key, allowed).as_array();
    if (array == nullptr) refuse(key, "wrong type", allowed);
    for (std::size_t i = 0; i < array->size(); ++i) {
        const toml::node& list_node = *array->get(i);
        const toml::array* list = list_node.as_array();
        const auto refuse_list = [&] {
            refuse_at(list_node.source().begin, fmt::format("{}[{}]", key, i), "not such an array",
                      shown(list_node), allowed);
        };
        if (list == nullptr) refuse_list();
        values.emplace_back();
        for (const toml::node& node : *list) {
            const auto* const one = node.as_integer();
            if (one == nullptr || one->get() < least || one->get() > most) refuse_list();
            values.back().push_back(static_cast<int>(one->get()));
        }
    }
    return values;
}

std::vector<std::string> toml_section::texts(std::string_view key) const {
    std::vector<std::string> values;
    const toml::array* array = required(key, "an array of texts").as_array();
    if (array == nullptr) refuse(key, "wrong type", "an array of texts");
    for (const toml::node& node : *array) {
        const auto* const one = node.as_string();
        if (one == nullptr) refuse(key, "wrong type", "an array of texts");
        values.push_back(one->get());
    }
    return values;
}

std::int64_t toml_section::bytes(std::string_view key) const {
    const toml::node& node = required(key, bytes_allowed);
    std::optional<double> value;
    if (const auto* whole = node.as_integer()) value = static_cast<double>(whole->get());
    if (const auto* text = node.as_string()) {
        value = parse_bytes(text->get());
        if (!value) refuse(key, "not a size", bytes_allowed);
    }
    if (!value) refuse(key, "wrong type", bytes_allowed);
    if (!(*value >= 1 && *value <= most_bytes)) refuse(key, "out of range", bytes_allowed);
    if (std::floor(*value) < *value) refuse(key, "not a whole number of bytes", bytes_allowed);
    return static_cast<std::int64_t>(*value);
}

std::vector<double> toml_section::matrix(std::string_view key, std::size_t side, number_range range) const {
    const std::string allowed = fmt::format("an array of {0} arrays of {0} numbers", side);
    const toml::array* rows = required(key, allowed).as_array();
    if (rows == nullptr) refuse(key, "wrong type", allowed);
    if (rows->size() != side) refuse(key, "the number of rows does not match", allowed);
    std::vector<double> values;
    for (std::size_t i = 0; i < side; ++i) {
        const toml::node& row_node = *rows->get(i);
        const toml::array* row = row_node.as_array();
        if (row == nullptr || row->size() != side) {
            refuse_at(row_node.source().begin, fmt::format("{}[{}]", key, i),
                      "the number of columns does not match", shown(row_node), allowed);
        }
        for (std::size_t j = 0; j < side; ++j) {
            values.push_back(number_in(*row->get(j), fmt::format("{}[{}][{}]", key, i, j), range));
        }
    }
    return values;
}

std::optional<toml_section> toml_section::table(std::string_view key,
                                                std::initializer_list<const char*> keys) const {
    if (!has(key)) return std::nullopt;
    const toml::table* table = table_->get(key)->as_table();
    if (table == nullptr) refuse(key, "wrong type", fmt::format("a table [{}]", path_of(key)));
    return toml_section(*table, file_, path_of(key), keys);
}

std::vector<toml_section> toml_section::tables(std::string_view key,
                                               std::initializer_list<const char*> keys) const {
    std::vector<toml_section> sections;
    if (!has(key)) return sections;
    const std::string allowed = fmt::format("tables, each [[{}]]", path_of(key));
    const toml::array* array = table_->get(key)->as_array();
    if (array == nullptr || array->empty()) refuse(key, "wrong type", allowed);
    for (std::size_t i = 0; i < array->size(); ++i) {
        const toml::table* table = array->get(i)->as_table();
        if (table == nullptr) refuse(key, "wrong type", shown(*array->get(i)), allowed);
        sections.emplace_back(*table, file_, fmt::format("{}[{}]", path_of(key), i), keys);
    }
    return sections;
}

toml::table parse_toml_table(std::string_view text, std::string_view file) {
    const std::optional<toml_trap> trap = find_toml_trap(text);
    if (trap) {
        // What is wrong before it comes first.
        std::size_t end = 0;
        for (int line = 1; line < trap->statement_line; ++line) end = text.find('\n', end) + 1;
        text = text.substr(0, end);
    }
    toml::table table;
    try {
        table = toml::parse(text);
    } catch (const toml::parse_error& failure) {
        throw error(
            fmt::format("{}:{}: not TOML: {}", file, failure.source().begin.line, failure.description()));
    }
    if (trap) throw error(fmt::format("{}:{}: not TOML: {}", file, trap->line, trap->what));
    return table;
}

} // namespace weft
