#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::api {

/// A file that says how a program is scheduled, which WEFT_SETTINGS names: docs/advise.md. It is not a place for what one run
/// is about: its engine and machine, what it records, and resources.
inline constexpr int settings_version = 1;

/// A key of the table [settings], and the environment's variable that means the same.
struct settings_key {
    const char* key;
    const char* variable;
    bool is_text;   ///< its value may be a text
    bool is_number; ///< its value may be a whole number
};
inline constexpr std::array<settings_key, 9> settings_keys = {{{"policy", "WEFT_POLICY", true, false},
                                                               {"workers", "WEFT_WORKERS", false, true},
                                                               {"active", "WEFT_ACTIVE", true, true},
                                                               {"pin", "WEFT_PIN", true, false},
                                                               {"spin", "WEFT_SPIN", true, true},
                                                               {"stack", "WEFT_STACK", true, true},
                                                               {"waiting", "WEFT_WAITING", false, true},
                                                               {"preempt", "WEFT_PREEMPT", true, false},
                                                               {"seed", "WEFT_SEED", false, true}}};

/// One setting of a file.
struct file_setting {
    const settings_key* of;
    std::string value; ///< as for the variable
    std::string given; ///< for messages: `workers = 5000 in advice.toml`
};

/// The settings in a file's text, in the order of `settings_keys`. `name`: of the file, for messages. Throws weft::error for
/// what is no TOML, for another version, and for an unknown key or a value of another type. Whether a value makes sense is
/// found out where the variable is read.
std::vector<file_setting> parse_settings(std::string_view text, std::string_view name);

/// The same, from a file. Throws weft::error, too, if it cannot be read.
std::vector<file_setting> load_settings(const std::filesystem::path&);

} // namespace weft::api
