#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// Base of every exception that Weft itself throws. The message names what was wrong. If a value was refused,
/// the message also names that value and the allowed ones, in this fixed form, on which tools and tests may
/// rely:
///
///     <what>; given: <given>; allowed: <allowed>
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;

    /// A message of the fixed form.
    error(std::string_view what, std::string_view given, std::string_view allowed)
        : std::runtime_error(compose(what, given, allowed)) {}

    /// The fixed form of a message.
    static std::string compose(std::string_view what, std::string_view given, std::string_view allowed) {
        std::string text;
        text.reserve(what.size() + given.size() + allowed.size() + 20);
        text.append(what).append("; given: ").append(given).append("; allowed: ").append(allowed);
        return text;
    }
};

} // namespace weft
