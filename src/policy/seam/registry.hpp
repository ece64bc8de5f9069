#pragma once

#include "policy/seam/entry.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace weft {

/// All policies: the built-in ones in the order of registry.cpp, then the registered ones in the order of
/// their registration. The span stays valid; a policy that is registered later is not in it.
std::span<const policy_entry> policy_list();

/// What a specification names: checked, and ready to be made any number of times.
struct policy_maker {
    const policy_entry* entry;
    knob_values knobs;

    std::unique_ptr<policy> operator()() const { return entry->make(knobs); }
};

/// From NAME[:key=value,...], or MODULE.so[:NAME[:key=value,...]] for a policy of a shared object (load_module.hpp).
/// Throws weft::error. The error for an unknown name lists all names and the nearest one; the error for a bad knob
/// lists what is allowed.
policy_maker resolve_policy(std::string_view spec);

/// The policy itself.
std::unique_ptr<policy> make_policy(std::string_view spec);

/// Adds a policy of the program's own; from any thread, at any time. What the entry points to must live as
/// long as the program. Throws weft::error if the name is taken or malformed, or if there are max_policies
/// already.
void register_policy(const policy_entry& entry);

/// Lower-case letters, digits and '-', and at least one of them.
bool is_policy_name(std::string_view name);

inline constexpr std::size_t max_policies = 256;

} // namespace weft
