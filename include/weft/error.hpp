#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// Base of every exception that weft throws by itself. A message always names what was wrong; where a value
/// was refused it also names that value and the ones that would have been taken, in this fixed form, so that
/// tools and tests may rely on it:
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
