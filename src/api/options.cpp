#include "api/options.hpp"

#include "api/lending_options.hpp"
#include "api/preemption_options.hpp"
#include "api/speed_options.hpp"
#include "calibrate/model_machine.hpp"
#include "gate/load_resources.hpp"
#include "machine/load.hpp"
#include "machine/machine_files.hpp"
#include "machine/quota.hpp"
#include "machine/speeds.hpp"
#include "machine/workers.hpp"
#include "task/stack.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include <unistd.h>

namespace weft::api {

namespace {

constexpr int max_workers = 1024;

constexpr std::array<std::string_view, 21> known = {
    "WEFT_WORKERS",  "WEFT_POLICY", "WEFT_ENGINE",    "WEFT_MACHINE",  "WEFT_SEED",   "WEFT_STACK",
    "WEFT_PIN",      "WEFT_SPIN",   "WEFT_RESOURCES", "WEFT_SCENARIO", "WEFT_COSTS",  "WEFT_REPORT",
    "WEFT_PROGRESS", "WEFT_TRACE",  "WEFT_WAITING",   "WEFT_PREEMPT",  "WEFT_ACTIVE", "WEFT_SPEEDS",
    "WEFT_SHARE",    "WEFT_LEND",   machines_variable};

/// An empty value counts as not set.
std::optional<std::string> variable(const char* name) {
    const char* v = std::getenv(name);
    return v && *v ? std::optional<std::string>(v) : std::nullopt;
}

std::optional<std::string> given_or_variable(const std::string& given, const char* name) {
    return given.empty() ? variable(name) : std::optional(given);
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number n{};
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    return bad == std::errc{} && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
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

int workers_of(const runtime_options& o, const machine& m) {
    const std::string allowed = fmt::format("1 to {}", max_workers);
    if (o.workers) {
        if (*o.workers < 1 || *o.workers > max_workers)
            throw error("the number of workers is out of range",
                        fmt::format("runtime_options::workers = {}", *o.workers), allowed);
        return *o.workers;
    }
    if (const auto text = variable("WEFT_WORKERS")) {
        const auto n = parse<int>(*text);
        if (!n || *n < 1 || *n > max_workers)
            throw error("the number of workers is out of range", "WEFT_WORKERS=" + *text, allowed);
        return *n;
    }
    return std::min(default_workers(m), max_workers);
}

std::optional<std::size_t> parse_bytes(std::string_view text) {
    std::size_t unit = 1;
    if (!text.empty()) switch (text.back()) {
        case 'K':
        case 'k': unit = std::size_t{1} << 10; break;
        case 'M':
        case 'm': unit = std::size_t{1} << 20; break;
        case 'G':
        case 'g': unit = std::size_t{1} << 30; break;
        default: break;
        }
    if (unit > 1) text.remove_suffix(1);
    const auto n = parse<std::size_t>(text);
    if (!n || *n > std::numeric_limits<std::size_t>::max() / unit) return std::nullopt;
    return *n * unit;
}

std::size_t stack_of(const runtime_options& o) {
    constexpr std::size_t most = std::size_t{64} << 30;
    const std::string allowed = fmt::format("{} bytes to 64G, as bytes or with K, M or G", min_stack_bytes());
    if (o.stack_bytes) {
        if (*o.stack_bytes < min_stack_bytes() || *o.stack_bytes > most)
            throw error("the stack of a task is too small or too large",
                        fmt::format("runtime_options::stack_bytes = {}", *o.stack_bytes), allowed);
        return *o.stack_bytes;
    }
    if (const auto text = variable("WEFT_STACK")) {
        const auto n = parse_bytes(*text);
        if (!n || *n < min_stack_bytes() || *n > most)
            throw error("the stack of a task is too small or too large", "WEFT_STACK=" + *text, allowed);
        return *n;
    }
    return engine::thread_engine_options{}.stack_bytes;
}

std::size_t most_waiting_of(const runtime_options& o) {
    if (o.waiting) return *o.waiting;
    if (const auto text = variable("WEFT_WAITING")) {
        if (const auto n = parse<std::size_t>(*text)) return *n;
        throw error("the number of children that may wait is no number", "WEFT_WAITING=" + *text,
                    fmt::format("0 to {}", std::numeric_limits<std::size_t>::max()));
    }
    return engine::default_most_waiting;
}

std::uint64_t seed_of(const runtime_options& o) {
    if (o.seed) return *o.seed;
    if (const auto text = variable("WEFT_SEED")) {
        if (const auto n = parse<std::uint64_t>(*text)) return *n;
        throw error("the seed is no number", "WEFT_SEED=" + *text, "0 to 18446744073709551615");
    }
    return engine::thread_engine_options{}.seed;
}

std::chrono::nanoseconds spin_time_of(const runtime_options& o) {
    using std::chrono::microseconds;
    constexpr microseconds most = std::chrono::hours(1), for_ever = std::chrono::hours(24 * 365 * 100);
    constexpr const char* what = "the time an idle worker looks for work is out of range";
    const std::string allowed = fmt::format("0 to {} (microseconds), forever", most.count());
    if (o.spin) {
        if (*o.spin == microseconds::max()) return for_ever;
        if (*o.spin < microseconds(0) || *o.spin > most)
            throw error(what, fmt::format("runtime_options::spin = {}", o.spin->count()), allowed);
        return *o.spin;
    }
    if (const auto text = variable("WEFT_SPIN")) {
        if (*text == "forever") return for_ever;
        const auto n = parse<std::int64_t>(*text);
        if (!n || *n < 0 || *n > most.count()) throw error(what, "WEFT_SPIN=" + *text, allowed);
        return microseconds(*n);
    }
    return engine::thread_engine_options{}.spin_time;
}

/// The cores of the workers; nothing if they are not pinned.
std::optional<pin_order> pin_order_of(const runtime_options& o, const machine& m, int workers) {
    const auto text = given_or_variable(o.pin, "WEFT_PIN");
    const std::string given = (o.pin.empty() ? "WEFT_PIN=" : "runtime_options::pin = ") + text.value_or("");
    // Several programs with few workers each would all be pinned to the same cores; one with a slot is placed by others.
    if (!text)
        return !m.is_modelled() && workers == m.size() && !given_or_variable(o.share, "WEFT_SHARE")
                   ? std::optional(pin_order::compact)
                   : std::nullopt;
    if (*text == "off") return std::nullopt;
    if (*text != "compact" && *text != "scatter")
        throw error("unknown way to pin workers", given, "compact, scatter, off");
    if (m.is_modelled())
        throw error("workers cannot be pinned to the cores of a described machine", given, "off");
    return *text == "compact" ? pin_order::compact : pin_order::scatter;
}

engine::preemption_options preemption_of(const runtime_options& o) {
    const auto text = given_or_variable(o.preempt, "WEFT_PREEMPT");
    if (!text) return {};
    return parse_preemption(*text,
                            (o.preempt.empty() ? "WEFT_PREEMPT=" : "runtime_options::preempt = ") + *text);
}

/// A stretch of user code whose cost is measured is over when its cost is known, so it cannot be preempted.
engine::preemption_options preemption_in_model(const runtime_options& o, bool measures) {
    const auto p = preemption_of(o);
    if (p.type != preemption::off && measures)
        throw error("the engine 'model' preempts tasks whose costs are declared only",
                    "WEFT_PREEMPT=" + *given_or_variable(o.preempt, "WEFT_PREEMPT") +
                        ", and costs that are measured",
                    "a program that calls weft::cost, with WEFT_COSTS=declared or none; or WEFT_PREEMPT=off");
    return p;
}

/// Returns whether the number of active workers is to follow the cores.
bool choose_active(const runtime_options& o, settings& s, int workers, bool by_default) {
    const auto text = given_or_variable(o.active, "WEFT_ACTIVE");
    if (!text) return by_default;
    if (*text == "all") return false;
    const std::string given = (o.active.empty() ? "WEFT_ACTIVE=" : "runtime_options::active = ") + *text;
    s.active_given = given;
    if (*text == "cores") {
        if (s.machine.is_modelled())
            throw error("a modelled machine has all its cores all the time", given,
                        "all, or a number; programs can call set_active_workers()");
        return true;
    }
    const auto n = parse<int>(*text);
    if (!n || *n < 1 || *n > workers)
        throw error("the number of active workers is out of range", given,
                    fmt::format("all, cores, or 1 to {}, the number of workers", workers));
    s.active = *n;
    return false;
}

std::string policy_of(const runtime_options& o) {
    return given_or_variable(o.policy, "WEFT_POLICY").value_or("steal");
}

/// Options of the engine `model` only.
struct model_option {
    const char* variable;
    std::string runtime_options::* given;
};
constexpr std::array<model_option, 2> model_options = {
    {{"WEFT_SCENARIO", &runtime_options::scenario}, {"WEFT_COSTS", &runtime_options::costs}}};

void refuse_model_options(const runtime_options& o) {
    for (const auto& option : model_options)
        if (const auto text = given_or_variable(o.*option.given, option.variable))
            throw error("only the engine 'model' understands this",
                        fmt::format("{}={}", option.variable, *text), "WEFT_ENGINE=model with it");
}

bool measures_costs(const runtime_options& o) {
    const auto text = given_or_variable(o.costs, "WEFT_COSTS");
    if (!text) return impl::modules_with_costs.load(std::memory_order_relaxed) == 0;
    if (*text != "declared" && *text != "measured")
        throw error("unknown source of costs", "WEFT_COSTS=" + *text, "declared, measured");
    return *text == "measured";
}

pin_order pin_order_in_model(const runtime_options& o) {
    const auto text = given_or_variable(o.pin, "WEFT_PIN").value_or("compact");
    if (text != "compact" && text != "scatter")
        throw error("unknown way to place virtual workers", "WEFT_PIN=" + text, "compact, scatter");
    return text == "scatter" ? pin_order::scatter : pin_order::compact;
}

engine::record_options record_of(const runtime_options& o, const char* engine_name,
                                 const std::string& policy) {
    const auto resources = given_or_variable(o.resources, "WEFT_RESOURCES");
    return {.trace = given_or_variable(o.trace, "WEFT_TRACE").value_or(""),
            .report = given_or_variable(o.report, "WEFT_REPORT").value_or(""),
            .progress = given_or_variable(o.progress, "WEFT_PROGRESS").value_or(""),
            .engine_name = engine_name,
            .policy_spec = policy,
            .seed = seed_of(o),
            .resources = resources ? read_resources(*resources) : ""};
}

/// The workers that the speeds are for: one for each. Throws weft::error if another number was chosen.
int workers_with(const std::vector<double>& speeds, const runtime_options& o, const machine& m) {
    const int count = static_cast<int>(speeds.size());
    if (!o.workers && !variable("WEFT_WORKERS")) return count;
    if (const int chosen = workers_of(o, m); chosen != count)
        throw error("there is a speed for each worker", fmt::format("{} speeds, {} workers", count, chosen),
                    "as many speeds as workers, or no number of workers");
    return count;
}

/// The speeds of the workers, which the machine has from now on; empty: they have none of their own.
std::vector<double> speeds_of(const runtime_options& o, machine& m) {
    const auto text = given_or_variable(o.speeds, "WEFT_SPEEDS");
    if (!text) return {};
    const std::string given = (o.speeds.empty() ? "WEFT_SPEEDS=" : "runtime_options::speeds = ") + *text;
    auto speeds = parse_speeds(*text, given, m);
    if (*text != speeds_of_machine) m = with_speeds(m, speeds);
    return speeds;
}

/// Cores for workers with speeds on this computer. WEFT_PIN=off: the workers share all of them.
void emulate(settings& s, const std::vector<double>& speeds, const runtime_options& o) {
    const auto pin = given_or_variable(o.pin, "WEFT_PIN");
    if (pin && *pin != "off")
        throw error("workers with speeds are spread over the cores by their speeds",
                    (o.pin.empty() ? "WEFT_PIN=" : "runtime_options::pin = ") + *pin + " with WEFT_SPEEDS",
                    "off, or no choice");
    s.threads.pin = !pin;
    s.threads.speeds = emulate_speeds(s.machine, speeds, usable_cpus(), cpu_quota(), s.threads.pin);
}

settings resolve_model(const runtime_options& o, machine whole) {
    const auto speeds = speeds_of(o, whole);
    engine::model_engine_options m;
    m.workers = !speeds.empty()                         ? workers_with(speeds, o, whole)
                : o.workers || variable("WEFT_WORKERS") ? workers_of(o, whole)
                                                        : std::min(whole.size(), max_workers);
    if (m.workers > whole.size())
        throw error("more virtual workers than the machine has cores", fmt::format("{} workers", m.workers),
                    fmt::format("1 to {}, the cores of machine '{}'", whole.size(), whole.name()));
    m.seed = seed_of(o);
    m.stack_bytes = stack_of(o);
    m.most_waiting = most_waiting_of(o);
    m.spin_time = spin_time_of(o).count();
    m.measures = measures_costs(o);
    m.preempt = preemption_in_model(o, m.measures);
    settings s;
    s.policy = policy_of(o);
    m.record = record_of(o, "model", s.policy);
    s.machine = m.workers < whole.size()
                    ? restrict_to(whole, ranks_for(whole, m.workers, pin_order_in_model(o)))
                    : std::move(whole);
    choose_active(o, s, m.workers, false);
    if (const auto file = given_or_variable(o.scenario, "WEFT_SCENARIO"))
        m.events = engine::load_scenario(*file, s.machine);
    s.model = std::move(m);
    return s;
}

resource_table resources_of(const runtime_options& o, const machine& m) {
    const auto file = given_or_variable(o.resources, "WEFT_RESOURCES");
    return file ? load_resources(*file, m) : resource_table{};
}

/// The workers that come to those on own cores: one for each core that may be borrowed.
void lend(settings& s, const std::vector<double>& speeds, const runtime_options& o) {
    const auto text = given_or_variable(o.lend, "WEFT_LEND");
    if (!text) return;
    const std::string given = (o.lend.empty() ? "WEFT_LEND=" : "runtime_options::lend = ") + *text;
    if (*text != "off" && (s.machine.is_modelled() || !speeds.empty()))
        throw error("only workers on this computer's cores, as they are, can lend and borrow some",
                    given + (speeds.empty() ? " with a described machine" : " with WEFT_SPEEDS"), "off");
    s.threads.lend = parse_lending(*text, given, s.machine);
    const int room = max_workers - s.threads.workers;
    if (std::ssize(s.threads.lend.reach) > room) s.threads.lend.reach.resize(static_cast<std::size_t>(room));
    s.threads.workers += static_cast<int>(s.threads.lend.reach.size());
    s.threads.cores += static_cast<int>(s.threads.lend.reach.size());
}

} // namespace

settings resolve(const runtime_options& o, const machine* on) {
    refuse_unknown_variables();
    const auto engine_name = given_or_variable(o.engine, "WEFT_ENGINE").value_or("threads");
    if (engine_name != "threads" && engine_name != "model")
        throw error("unknown engine", "WEFT_ENGINE=" + engine_name, "threads, model");

    settings s;
    const std::string spec = given_or_variable(o.machine, "WEFT_MACHINE").value_or("");
    if (engine_name == "model") {
        s = resolve_model(o, on ? *on : model_machine(spec));
        s.resources = resources_of(o, s.machine);
        return s;
    }
    refuse_model_options(o);
    machine whole = load_machine(spec);
    const auto speeds = speeds_of(o, whole);
    s.threads.workers = !speeds.empty() ? workers_with(speeds, o, whole)
                        : o.workers || variable("WEFT_WORKERS") || !whole.is_modelled()
                            ? workers_of(o, whole)
                            : std::min(whole.size(), max_workers);
    const bool follows = speeds.empty() && !o.workers && !variable("WEFT_WORKERS") && !whole.is_modelled();
    s.threads.seed = seed_of(o);
    s.threads.stack_bytes = stack_of(o);
    s.threads.most_waiting = most_waiting_of(o);
    s.threads.spin_time = spin_time_of(o);
    s.threads.cores = usable_cores();
    s.threads.preempt = preemption_of(o);
    if (s.threads.preempt.type != preemption::off) s.threads.stack_bytes += signal_frame_bytes();
    const auto where = speeds.empty() ? pin_order_of(o, whole, s.threads.workers) : std::nullopt;
    s.threads.pin = where.has_value();
    // The policy's machine has a rank for each worker; with more workers than cores, they start over.
    s.machine =
        s.threads.workers < whole.size()
            ? restrict_to(whole, ranks_for(whole, s.threads.workers, where.value_or(pin_order::compact)))
            : std::move(whole);
    if (!speeds.empty()) emulate(s, speeds, o);
    s.threads.follow_cores = choose_active(o, s, s.threads.workers, follows);
    lend(s, speeds, o);
    s.threads.share = given_or_variable(o.share, "WEFT_SHARE").value_or("");
    s.resources = resources_of(o, s.machine);
    s.policy = policy_of(o);
    s.threads.record = record_of(o, "threads", s.policy);
    return s;
}

} // namespace weft::api
