#include "api/preemption_options.hpp"

#include "api/interval.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace weft::api {

namespace {

using engine::parking;
using engine::preemption_options;
using engine::tick_timers;

constexpr std::chrono::nanoseconds shortest = std::chrono::microseconds(50),
                                   longest = std::chrono::seconds(60);
constexpr int most_groups = 1024;

template <class Value, std::size_t N>
using names = std::array<std::pair<std::string_view, Value>, N>;

constexpr names<preemption, 3> types = {
    {{"off", preemption::off}, {"yield", preemption::yield}, {"klt", preemption::klt}}};
constexpr names<tick_timers, 5> timers = {{{"created", tick_timers::created},
                                           {"aligned", tick_timers::aligned},
                                           {"one-to-all", tick_timers::one_to_all},
                                           {"chain", tick_timers::chain},
                                           {"hybrid", tick_timers::hybrid}}};
constexpr names<parking, 3> places = {
    {{"sigsuspend", parking::sigsuspend}, {"futex", parking::futex}, {"futex_local", parking::futex_local}}};

template <class Value, std::size_t N>
std::optional<Value> find(const names<Value, N>& in, std::string_view name) {
    for (const auto& [known, value] : in)
        if (known == name) return value;
    return std::nullopt;
}

template <class Value, std::size_t N>
std::string list(const names<Value, N>& in) {
    std::string all;
    for (const auto& [known, value] : in) all += (all.empty() ? "" : ", ") + std::string(known);
    return all;
}

void set(preemption_options& o, std::string_view key, std::string_view value, std::string_view given) {
    const auto refuse = [&](std::string_view what, const std::string& allowed) -> void {
        throw error(std::string(what), std::string(given), allowed);
    };
    if (key == "interval") {
        const auto t = parse_interval(value);
        if (!t || *t < shortest || *t > longest)
            return refuse("the interval of preemption is out of range", "50us to 60s, with us, ms or s");
        o.interval = *t;
    } else if (key == "timer") {
        const auto t = find(timers, value);
        if (!t) return refuse("unknown timers of preemption", list(timers));
        o.timers = *t;
    } else if (key == "groups") {
        const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), o.groups);
        if (bad != std::errc{} || end != value.data() + value.size() || o.groups < 1 ||
            o.groups > most_groups)
            return refuse(
                "the number of groups with a timer is out of range",
                fmt::format("1 to {}; more than there are workers count as one for each", most_groups));
    } else if (key == "park") {
        const auto p = find(places, value);
        if (!p) return refuse("unknown way to stop a preempted kernel thread", list(places));
        o.park = *p;
    } else {
        refuse("unknown option of preemption", "interval, timer, groups, park");
    }
}

} // namespace

preemption_options parse_preemption(std::string_view text, std::string_view given) {
    preemption_options o;
    const std::size_t colon = text.find(':');
    const auto type = find(types, text.substr(0, colon));
    if (!type)
        throw error("unknown type of preemption", std::string(given),
                    list(types) + ", each with [:interval=1ms,timer=aligned,groups=1,park=futex_local]");
    o.type = *type;
    std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    if (colon != std::string_view::npos && rest.empty())
        throw error("no option of preemption follows the colon", std::string(given),
                    "interval, timer, groups, park, each with =VALUE");
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view one = rest.substr(0, comma);
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos)
            throw error("an option of preemption has no value", std::string(given),
                        "interval, timer, groups, park, each with =VALUE");
        set(o, one.substr(0, equals), one.substr(equals + 1), given);
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    }
    if (o.groups > 0 && o.timers != tick_timers::hybrid)
        throw error("only hybrid timers have a number of groups", std::string(given), "timer=hybrid with it");
    if (o.timers == tick_timers::hybrid && o.groups == 0)
        throw error("hybrid timers need a number of groups", std::string(given), "groups=1 to groups=1024");
    return o;
}

} // namespace weft::api
