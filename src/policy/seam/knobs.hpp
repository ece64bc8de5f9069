#pragma once

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace weft {
inline namespace policy_v8 {

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

/// The knob of each policy that has requirements::wide_groups and offers_ahead if values.is("wide", "queue").
consteval knob wide_knob() {
    return {.key = "wide",
            .default_value = "queue",
            .allowed = "queue, steal",
            .help = "in the lazy zone; queue: children of a large group are queued, and entries are offered "
                    "before thieves ask; steal: neither"};
}

/// The checked values of all knobs of one policy: no getter fails on what a user wrote. To ask for a key that
/// the table does not have, or for a value as another type than its own, is a mistake in the policy, and
/// asserted.
class knob_values {
public:
    /// From "key=value,key=value", possibly empty. Throws weft::error, which names the policy by `owner`. The
    /// table must outlive the values.
    knob_values(std::string_view owner, std::span<const knob> knobs, std::string_view text);

    // The getters are here, so that a policy in a shared object of its own needs nothing of the library.

    std::string_view text(std::string_view key) const { return values_[index(key)]; }
    std::int64_t integer(std::string_view key) const {
        const std::string_view value = text(key);
        std::int64_t number = 0;
        [[maybe_unused]] const auto [stop, bad] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        assert(bad == std::errc{} && stop == value.data() + value.size());
        return number;
    }
    bool flag(std::string_view key) const { ///< of "on, off"
        assert(knobs_[index(key)].allowed == "on, off");
        return text(key) == "on";
    }
    bool is(std::string_view key, std::string_view word) const {
        assert(lists(knobs_[index(key)].allowed, word));
        return text(key) == word;
    }

    /// Whether a list such as "lifo, fifo" has the word.
    static bool lists(std::string_view words, std::string_view word) {
        while (!words.empty()) {
            const std::size_t comma = words.find(", ");
            if (words.substr(0, comma) == word) return true;
            words = comma == std::string_view::npos ? std::string_view{} : words.substr(comma + 2);
        }
        return false;
    }

private:
    std::size_t index(std::string_view key) const {
        const auto found = std::ranges::find(knobs_, key, &knob::key);
        assert(found != knobs_.end());
        return static_cast<std::size_t>(found - knobs_.begin());
    }

    std::span<const knob> knobs_;
    std::vector<std::string> values_; ///< one for each of knobs_
};

} // namespace policy_v8

/// "order (lifo, fifo; default: lifo), tries (1..1000; default: 4)", or "no knobs".
std::string list_knobs(std::span<const knob> knobs);

/// A specification [MODULE:]NAME[:key=value,...] in its parts. A module is the path of a shared object: it contains
/// '/' or ends in .so, and has no colon. Its only policy needs no name. `knobs` is empty if there are none. Throws
/// weft::error for an empty name, and for a colon with nothing behind it.
struct policy_spec {
    std::string_view module;
    std::string_view name;
    std::string_view knobs;
};
policy_spec split_policy_spec(std::string_view spec);

} // namespace weft
