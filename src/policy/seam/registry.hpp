#pragma once

#include "policy/seam/knobs.hpp"
#include "policy/seam/policy.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace weft {

/// How a policy is known by name. A built-in policy is an `extern constinit const policy_entry NAME_entry` in
/// its own file, and one line in registry.cpp. A program hands its own policy to register_policy().
struct policy_entry {
    std::string_view name;    ///< lower case, words joined by '-'
    std::string_view summary; ///< one line
    std::string_view source;  ///< paper or book, with section
    std::string_view wants{}; ///< what the program should tell it; empty: nothing
    std::string_view helps{}; ///< the machines and programs that it is meant for
    std::span<const knob> knobs;
    std::unique_ptr<policy> (*make)(const knob_values&);
};

/// All policies: the built-in ones in the order of registry.cpp, then the registered ones in the order of
/// their registration. The span stays valid; a policy that is registered later is not in it.
std::span<const policy_entry> policy_list();

/// Null if no policy has that name.
const policy_entry* find_policy(std::string_view name);

/// From NAME[:key=value,...]. Throws weft::error. The error for an unknown name lists all names and the
/// nearest one; the error for a bad knob lists what is allowed.
std::unique_ptr<policy> make_policy(std::string_view spec);

/// Adds a policy of the program's own; from any thread, at any time. What the entry points to must live as
/// long as the program. Throws weft::error if the name is taken or malformed, or if there are max_policies
/// already.
void register_policy(const policy_entry& entry);

inline constexpr std::size_t max_policies = 256;

} // namespace weft
