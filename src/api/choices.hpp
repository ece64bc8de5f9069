#pragma once

#include "api/settings_file.hpp"

#include <weft/runtime.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weft::api {

/// What was chosen for one option.
struct choice {
    std::string value;
    std::string
        given; ///< for messages: `runtime_options::pin = off`, `WEFT_PIN=off`, `pin = off in advice.toml`
};

/// The options that were chosen. The first place that has one counts: the program's runtime_options, the environment, the file
/// that WEFT_SETTINGS names. An empty text counts as no choice. The runtime_options must outlive this.
class choices {
public:
    /// Throws weft::error for a variable WEFT_... that does not exist, and for a settings file that cannot be read.
    explicit choices(const runtime_options&);

    const runtime_options& given() const { return *given_; }
    /// The choice of the environment or the file.
    std::optional<choice> variable(const char* name) const;
    /// That of the file, also where another place has one that counts. `variable`: that means the same.
    std::optional<choice> in_file(const char* variable) const;
    /// The choice for an option that is a text.
    std::optional<choice> text(std::string runtime_options::* option) const;
    /// Only its value.
    std::optional<std::string> value(std::string runtime_options::* option) const;
    /// A number of workers; a profile means one.
    bool has_workers() const {
        return given_->workers || variable("WEFT_WORKERS") || text(&runtime_options::profile);
    }

private:
    const runtime_options* given_;
    std::vector<file_setting> file_;
};

} // namespace weft::api
