#include "machine/toml_traps.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace weft {

namespace {

constexpr std::string_view key_starts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-\"'";

// The index after the string that begins at `first`; an unfinished one ends at the end of its line, or of the
// text where it may have several lines.
std::size_t after_string(std::string_view text, std::size_t first) {
    const char quote = text[first];
    const bool escapes = quote == '"';
    const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
    const bool lines = text.substr(first).starts_with(triple);
    std::size_t i = first + (lines ? 3 : 1);
    while (i < text.size()) {
        if (escapes && text[i] == '\\') {
            i += 2;
        } else if (lines ? text.substr(i).starts_with(triple) : text[i] == quote) {
            i += lines ? 3 : 1;
            // Up to two quotes may stand before the closing three.
            while (lines && i < text.size() && text[i] == quote) ++i;
            return i;
        } else if (!lines && text[i] == '\n') {
            return i;
        } else {
            ++i;
        }
    }
    return text.size();
}

} // namespace

std::optional<toml_trap> find_toml_trap(std::string_view text) {
    const auto skip_blanks = [&](std::size_t i) {
        return std::min(text.find_first_not_of(" \t", i), text.size());
    };
    int line = 1;
    int statement_line = 1;
    std::string open; // brackets in values, the innermost one last
    bool at_start = true;
    const std::size_t byte_order_mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    for (std::size_t i = byte_order_mark; i < text.size();) {
        const char c = text[i];
        if (c == '\n') {
            ++line;
            ++i;
            at_start = open.empty();
            if (at_start) statement_line = line;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            ++i;
        } else if (c == '#') {
            i = std::min(text.find('\n', i), text.size());
        } else if (c == '"' || c == '\'') {
            const std::size_t end = after_string(text, i);
            line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                                text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
            i = end;
            at_start = false;
        } else if (c == '[' && at_start) {
            i = skip_blanks(i + 1);
            if (i < text.size() && text[i] == '[') i = skip_blanks(i + 1);
            if (i < text.size() && text[i] != ']' && key_starts.find(text[i]) == key_starts.npos)
                return toml_trap{line, statement_line, "a table header without a key"};
            at_start = false;
        } else if (static_cast<unsigned char>(c) > 127) {
            return toml_trap{line, statement_line,
                             "a character that is not ASCII, outside of strings and comments"};
        } else {
            if (c == '}' && open.ends_with('['))
                return toml_trap{line, statement_line, "an array that a brace closes"};
            if (c == '[' || c == '{') open += c;
            if ((c == ']' || c == '}') && !open.empty()) open.pop_back();
            ++i;
            at_start = false;
        }
    }
    return std::nullopt;
}

} // namespace weft
