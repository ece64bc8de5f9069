#pragma once

#include "policy/seam/knobs.hpp"
#include "policy/seam/policy.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace weft {
inline namespace policy_v8 {

/// How a policy is known by name. A built-in policy is an `extern constinit const policy_entry NAME_entry` in
/// its own file, and one line in registry.cpp. A program hands its own policy to register_policy(); a shared object
/// lists its own ones by WEFT_POLICY_MODULE.
struct policy_entry {
    std::string_view name;    ///< lower case, words joined by '-'
    std::string_view summary; ///< one line
    std::string_view source;  ///< paper or book, with section
    std::string_view wants{}; ///< what the program should tell it; empty: nothing
    std::string_view helps{}; ///< the machines and programs that it is meant for
    std::span<const knob> knobs;
    std::unique_ptr<policy> (*make)(const knob_values&);
    bool modelled_only = false; ///< engines with real threads refuse it (requirements::locks)
};

} // namespace policy_v8
} // namespace weft
