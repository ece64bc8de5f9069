#pragma once

#include "policy/seam/policy.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace weft::engine {

/// What a policy has chosen, for a report: docs/reports.md names the keys.
nlohmann::ordered_json choices_json(const policy_choices&);
/// A line for each place and one for the memory; empty if the policy chooses nothing.
std::string choices_table(const policy_choices&);

} // namespace weft::engine
