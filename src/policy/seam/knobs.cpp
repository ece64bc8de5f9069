#include "policy/seam/knobs.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>

namespace weft {
namespace {

std::optional<std::int64_t> to_integer(std::string_view text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc{} || stop != end) return std::nullopt;
    return value;
}

struct integer_range {
    std::int64_t lowest, highest;
};

std::optional<integer_range> to_range(std::string_view allowed) {
    const std::size_t dots = allowed.find("..");
    if (dots == std::string_view::npos) return std::nullopt;
    const auto lowest = to_integer(allowed.substr(0, dots));
    const auto highest = to_integer(allowed.substr(dots + 2));
    if (!lowest || !highest) return std::nullopt;
    return integer_range{*lowest, *highest};
}

bool takes_the_rest(const knob& k) { return k.allowed == "policy"; }

bool is_allowed(const knob& k, std::string_view value) {
    if (k.allowed == "text" || takes_the_rest(k)) return true;
    if (const auto range = to_range(k.allowed)) {
        const auto number = to_integer(value);
        return number && range->lowest <= *number && *number <= range->highest;
    }
    return knob_values::lists(k.allowed, value);
}

struct setting {
    std::size_t knob; ///< its index in the table
    std::string_view value;
};

/// Takes the first key=value off `rest`, which is then what follows its comma, or without data if there is
/// none.
setting take_setting(std::string_view owner, std::span<const knob> knobs, std::string_view text,
                     std::string_view& rest) {
    std::size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        throw error(fmt::format("policy '{}': expected key=value", owner),
                    item.empty() ? fmt::format("nothing, in '{}'", text) : fmt::format("'{}'", item),
                    list_knobs(knobs));
    }
    const std::string_view key = item.substr(0, equals);
    const auto found = std::find_if(knobs.begin(), knobs.end(), [&](const knob& k) { return k.key == key; });
    if (found == knobs.end()) {
        throw error(fmt::format("policy '{}' has no knob '{}'", owner, key), fmt::format("'{}'", item),
                    list_knobs(knobs));
    }
    if (takes_the_rest(*found)) {
        item = rest;
        comma = std::string_view::npos;
    }
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    return {static_cast<std::size_t>(found - knobs.begin()), item.substr(equals + 1)};
}

} // namespace

knob_values::knob_values(std::string_view owner, std::span<const knob> knobs, std::string_view text)
    : knobs_(knobs)
    , values_(knobs.size()) {
    std::vector<bool> given(knobs.size(), false);
    std::string_view rest = text;
    while (!text.empty() && rest.data() != nullptr) {
        const setting s = take_setting(owner, knobs, text, rest);
        const knob& k = knobs[s.knob];
        if (given[s.knob]) {
            throw error(fmt::format("policy '{}': knob '{}' is given twice", owner, k.key),
                        fmt::format("'{}'", text), "each knob once");
        }
        if (s.value.empty() || !is_allowed(k, s.value)) {
            throw error(fmt::format("policy '{}': bad value of knob '{}'", owner, k.key),
                        s.value.empty() ? std::string("nothing") : fmt::format("'{}'", s.value), k.allowed);
        }
        given[s.knob] = true;
        values_[s.knob] = s.value;
    }
    for (std::size_t at = 0; at < knobs.size(); ++at) {
        if (given[at]) continue;
        if (knobs[at].default_value.empty()) {
            throw error(fmt::format("policy '{}' needs its knob '{}'", owner, knobs[at].key), "nothing",
                        fmt::format("{}={}", knobs[at].key, knobs[at].allowed));
        }
        assert(is_allowed(knobs[at], knobs[at].default_value));
        values_[at] = knobs[at].default_value;
    }
}

std::string list_knobs(std::span<const knob> knobs) {
    if (knobs.empty()) return "no knobs";
    std::string list;
    for (const knob& k : knobs) {
        if (!list.empty()) list += ", ";
        list += k.default_value.empty()
                    ? fmt::format("{} ({})", k.key, k.allowed)
                    : fmt::format("{} ({}; default: {})", k.key, k.allowed, k.default_value);
    }
    return list;
}

policy_spec split_policy_spec(std::string_view spec) {
    policy_spec parts{};
    std::string_view rest = spec;
    const auto first = rest.substr(0, rest.find(':'));
    if (first.find('/') != first.npos || first.ends_with(".so")) {
        parts.module = first;
        if (first.size() == spec.size()) return parts;
        rest = rest.substr(first.size() + 1);
    }
    const std::size_t colon = rest.find(':');
    parts.name = rest.substr(0, colon);
    if (colon != rest.npos) parts.knobs = rest.substr(colon + 1);
    if (parts.name.empty() || (colon != rest.npos && parts.knobs.empty())) {
        throw error(parts.name.empty() ? "a policy has a name" : "expected knobs behind the colon",
                    spec.empty() ? "nothing" : fmt::format("'{}'", spec),
                    "NAME[:key=value,...], or MODULE.so:NAME[:key=value,...]");
    }
    return parts;
}

} // namespace weft
