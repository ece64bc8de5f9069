#pragma once

#include <optional>
#include <string_view>

namespace weft {

struct toml_trap {
    int line = 0;
    int statement_line = 0; // where the statement that it is in begins: all that is before may be parsed
    const char* what = "";
};

// The first place where toml++ 3.3 would not report what is wrong but run into undefined behaviour (or an
// assertion, where they are on), so that it must not be given that text:
//   - a table header that has no key after its bracket, as in "[=" or "[[[";
//   - a closing brace where an array is open, as in "[1, }";
//   - outside of strings and comments, a character that is not ASCII.
// Exact for text that is otherwise TOML; what is found in other text may be something else that is wrong.
std::optional<toml_trap> find_toml_trap(std::string_view text);

} // namespace weft
