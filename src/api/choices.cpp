#include "api/choices.hpp"

#include "machine/machine_files.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <unistd.h>

namespace weft::api {

namespace {

constexpr const char* settings_variable = "WEFT_SETTINGS";

constexpr std::array<std::string_view, 25> known = {
    "WEFT_WORKERS",       "WEFT_POLICY",     "WEFT_ENGINE",     "WEFT_MACHINE",
    "WEFT_SEED",          "WEFT_STACK",      "WEFT_PIN",        "WEFT_SPIN",
    "WEFT_RESOURCES",     "WEFT_SCENARIO",   "WEFT_COSTS",      "WEFT_REPORT",
    "WEFT_PROGRESS",      "WEFT_TRACE",      "WEFT_WAITING",    "WEFT_PREEMPT",
    "WEFT_ACTIVE",        "WEFT_SPEEDS",     "WEFT_SHARE",      "WEFT_LEND",
    "WEFT_PROFILE",       settings_variable, machines_variable, "WEFT_AUTO_MEMORY",
    "WEFT_OPENMP_THREADS"}; // of compat/openmp

/// An option that is a text.
struct text_option {
    std::string runtime_options::* option;
    const char* name;
    const char* variable;
};
constexpr std::array<text_option, 16> text_options = {{
    {&runtime_options::active, "active", "WEFT_ACTIVE"},
    {&runtime_options::policy, "policy", "WEFT_POLICY"},
    {&runtime_options::engine, "engine", "WEFT_ENGINE"},
    {&runtime_options::machine, "machine", "WEFT_MACHINE"},
    {&runtime_options::pin, "pin", "WEFT_PIN"},
    {&runtime_options::speeds, "speeds", "WEFT_SPEEDS"},
    {&runtime_options::preempt, "preempt", "WEFT_PREEMPT"},
    {&runtime_options::resources, "resources", "WEFT_RESOURCES"},
    {&runtime_options::trace, "trace", "WEFT_TRACE"},
    {&runtime_options::profile, "profile", "WEFT_PROFILE"},
    {&runtime_options::report, "report", "WEFT_REPORT"},
    {&runtime_options::progress, "progress", "WEFT_PROGRESS"},
    {&runtime_options::share, "share", "WEFT_SHARE"},
    {&runtime_options::lend, "lend", "WEFT_LEND"},
    {&runtime_options::scenario, "scenario", "WEFT_SCENARIO"},
    {&runtime_options::costs, "costs", "WEFT_COSTS"},
}};

/// An empty value counts as not set.
std::optional<std::string> environment(const char* name) {
    const char* v = std::getenv(name);
    return v && *v ? std::optional<std::string>(v) : std::nullopt;
}

/// An unknown name is usually a typing error.
void refuse_unknown_variables() {
    for (char** v = environ; v && *v; ++v) {
        const std::string_view entry(*v);
        const std::string_view name = entry.substr(0, entry.find('='));
        if (!name.starts_with("WEFT_") || entry.size() == name.size() + 1) continue;
        if (name.starts_with("WEFT_TEST_")) continue; // for tests of programs that use Weft, and Weft's own
        if (std::ranges::find(known, name) == known.end())
            throw error("unknown environment variable", std::string(entry),
                        fmt::format("{}", fmt::join(known, ", ")));
    }
}

} // namespace

choices::choices(const runtime_options& given) : given_(&given) {
    refuse_unknown_variables();
    if (const auto file = environment(settings_variable)) file_ = load_settings(*file);
}

std::optional<choice> choices::variable(const char* name) const {
    if (auto v = environment(name)) {
        std::string given = fmt::format("{}={}", name, *v);
        return choice{.value = std::move(*v), .given = std::move(given)};
    }
    return in_file(name);
}

std::optional<choice> choices::in_file(const char* variable) const {
    const auto found = std::ranges::find(file_, std::string_view(variable), [](const file_setting& s) {
        return std::string_view(s.of->variable);
    });
    if (found == file_.end()) return std::nullopt;
    return choice{.value = found->value, .given = found->given};
}

std::optional<choice> choices::text(std::string runtime_options::* option) const {
    const text_option& o = *std::ranges::find(text_options, option, &text_option::option);
    const std::string& given = given_->*option;
    if (given.empty()) return variable(o.variable);
    return choice{.value = given, .given = fmt::format("runtime_options::{} = {}", o.name, given)};
}

std::optional<std::string> choices::value(std::string runtime_options::* option) const {
    auto found = text(option);
    return found ? std::optional(std::move(found->value)) : std::nullopt;
}

} // namespace weft::api
