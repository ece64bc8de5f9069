#pragma once

#include "machine/bounds.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

namespace weft {

// One table of a TOML file, read strictly: a key that is not in the list, a value of another type, out of its
// range or not finite, and a required key that is missing are all errors, with file, line, key, what was
// given and what is allowed. It refers to the parsed table, which must outlive it.
class toml_section {
public:
    toml_section(const toml::table& table, std::string file, std::string path,
                 std::initializer_list<const char*> keys);

    bool has(std::string_view key) const { return table_->contains(key); }
    bool is_array(std::string_view key) const;
    bool is_string(std::string_view key) const;
    std::size_t length(std::string_view key) const; // of an array

    std::string text(std::string_view key) const;
    std::string text(std::string_view key, std::string_view otherwise) const;
    std::string one_of(std::string_view key, std::initializer_list<const char*> allowed) const;
    bool boolean(std::string_view key, bool otherwise) const;
    std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most) const;
    int count(std::string_view key, int least, int most) const;
    int count(std::string_view key, int least, int most, int otherwise) const;
    double number(std::string_view key, number_range range) const;
    double number(std::string_view key, number_range range, double otherwise) const;
    std::optional<double> maybe_number(std::string_view key, number_range range) const;
    std::vector<double> numbers(std::string_view key, number_range range) const;

    std::vector<std::vector<int>> lists(std::string_view key, int least, int most) const; // of whole numbers
    std::vector<std::string> texts(std::string_view key) const;                           // an array of texts

    // A whole number of bytes, or a string such as "38.5 MiB" (B, KiB, MiB, GiB, TiB, and kB, MB, GB, TB for
    // powers of 1000).
    std::int64_t bytes(std::string_view key) const;

    // An array of `side` arrays of `side` numbers, row-major.
    std::vector<double> matrix(std::string_view key, std::size_t side, number_range range) const;

    std::optional<toml_section> table(std::string_view key, std::initializer_list<const char*> keys) const;
    // An array of tables; empty where the key is missing.
    std::vector<toml_section> tables(std::string_view key, std::initializer_list<const char*> keys) const;

    // Throws, with the line of the key, or of the table where it has no such key.
    [[noreturn]] void refuse(std::string_view key, std::string_view what, std::string_view given,
                             std::string_view allowed) const;
    // The same, with the value of the key as what was given.
    [[noreturn]] void refuse(std::string_view key, std::string_view what, std::string_view allowed) const;

private:
    const toml::node& required(std::string_view key, std::string_view type) const;
    double number_in(const toml::node& node, const std::string& key, number_range range) const;
    [[noreturn]] void refuse_at(toml::source_position where, std::string_view key, std::string_view what,
                                std::string_view given, std::string_view allowed) const;
    std::string path_of(std::string_view key) const;

    const toml::table* table_;
    std::string file_;
    std::string path_;
    std::string keys_; // allowed, as a list for messages
};

// Parses, and turns a syntax error into weft::error with file and line.
toml::table parse_toml_table(std::string_view text, std::string_view file);

} // namespace weft
