#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One setting of a policy, as it is listed for users. `allowed` is what the user reads, and what is checked:
///
///     "lifo, fifo"   one of these words; "on, off" for knob_values::flag
///     "1..1000"      an integer of this closed range
///     "text"         anything without a comma
///     "policy"       the name of a policy and its knobs: all the rest of the text, commas included. So it is
///                    written last, as in "chaos:of=near:tries=2"
struct knob {
    std::string_view key;
    std::string_view default_value; ///< empty: a value must be given
    std::string_view allowed;
    std::string_view help; ///< one line
};

/// The knob of each policy that may let spawns be silent (spawn_order::lazy). It does if
/// values.is("zone", "lazy").
consteval knob
zone_knob(std::string_view help = "reported: every spawn is shown to the policy (for traces and tests)") {
    return {.key = "zone", .default_value = "lazy", .allowed = "lazy, reported", .help = help};
}

/// The knob of each policy that has requirements::wide_groups if values.is("wide", "queue").
consteval knob wide_knob() {
    return {.key = "wide",
            .default_value = "queue",
            .allowed = "queue, steal",
            .help =
                "of a group with many children, in the lazy zone: queue the children, or let thieves steal "
                "the task that adds them"};
}

/// The checked values of all knobs of one policy: no getter fails on what a user wrote. To ask for a key that
/// the table does not have, or for a value as another type than its own, is a mistake in the policy, and
/// asserted.
class knob_values {
public:
    /// From "key=value,key=value", possibly empty. Throws weft::error, which names the policy by `owner`. The
    /// table must outlive the values.
    knob_values(std::string_view owner, std::span<const knob> knobs, std::string_view text);

    std::string_view text(std::string_view key) const;
    std::int64_t integer(std::string_view key) const;
    bool flag(std::string_view key) const; ///< of "on, off"
    bool is(std::string_view key, std::string_view word) const;

private:
    std::size_t index(std::string_view key) const;

    std::span<const knob> knobs_;
    std::vector<std::string> values_; ///< one for each of knobs_
};

/// "order (lifo, fifo; default: lifo), tries (1..1000; default: 4)", or "no knobs".
std::string list_knobs(std::span<const knob> knobs);

/// A specification NAME[:key=value,...] in its two halves; `knobs` is empty if there is no colon. Throws
/// weft::error for an empty name, and for a colon with nothing behind it.
struct policy_spec {
    std::string_view name;
    std::string_view knobs;
};
policy_spec split_policy_spec(std::string_view spec);

} // namespace weft
