#include "api/options.hpp"

#include "api/choices.hpp"
#include "api/lending_options.hpp"
#include "api/preemption_options.hpp"
#include "api/speed_options.hpp"
#include "calibrate/model_machine.hpp"
#include "gate/load_resources.hpp"
#include "machine/load.hpp"
#include "machine/quota.hpp"
#include "machine/speeds.hpp"
#include "machine/workers.hpp"
#include "task/stack.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <string_view>

namespace weft::api {

namespace {

constexpr int max_workers = 1024;

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number n{};
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    return bad == std::errc{} && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

int workers_of(const choices& c, const machine& m) {
    const std::string allowed = fmt::format("1 to {}", max_workers);
    if (const auto workers = c.given().workers) {
        if (*workers < 1 || *workers > max_workers)
            throw error("the number of workers is out of range",
                        fmt::format("runtime_options::workers = {}", *workers), allowed);
        return *workers;
    }
    if (const auto chosen = c.variable("WEFT_WORKERS")) {
        const auto n = parse<int>(chosen->value);
        if (!n || *n < 1 || *n > max_workers)
            throw error("the number of workers is out of range", chosen->given, allowed);
        return *n;
    }
    return c.text(&runtime_options::profile) ? 1 : std::min(default_workers(m), max_workers);
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

std::size_t stack_of(const choices& c) {
    constexpr std::size_t most = std::size_t{64} << 30;
    const std::string allowed = fmt::format("{} bytes to 64G, as bytes or with K, M or G", min_stack_bytes());
    if (const auto bytes = c.given().stack_bytes) {
        if (*bytes < min_stack_bytes() || *bytes > most)
            throw error("the stack of a task is too small or too large",
                        fmt::format("runtime_options::stack_bytes = {}", *bytes), allowed);
        return *bytes;
    }
    if (const auto chosen = c.variable("WEFT_STACK")) {
        const auto n = parse_bytes(chosen->value);
        if (!n || *n < min_stack_bytes() || *n > most)
            throw error("the stack of a task is too small or too large", chosen->given, allowed);
        return *n;
    }
    return engine::thread_engine_options{}.stack_bytes;
}

std::size_t most_waiting_of(const choices& c) {
    if (c.given().waiting) return *c.given().waiting;
    if (const auto chosen = c.variable("WEFT_WAITING")) {
        if (const auto n = parse<std::size_t>(chosen->value)) return *n;
        throw error("the number of children that may wait is no number", chosen->given,
                    fmt::format("0 to {}", std::numeric_limits<std::size_t>::max()));
    }
    return engine::default_most_waiting;
}

std::uint64_t seed_of(const choices& c) {
    if (c.given().seed) return *c.given().seed;
    if (const auto chosen = c.variable("WEFT_SEED")) {
        if (const auto n = parse<std::uint64_t>(chosen->value)) return *n;
        throw error("the seed is no number", chosen->given, "0 to 18446744073709551615");
    }
    return engine::thread_engine_options{}.seed;
}

std::chrono::nanoseconds spin_time_of(const choices& c) {
    using std::chrono::microseconds;
    constexpr microseconds most = std::chrono::hours(1), for_ever = std::chrono::hours(24 * 365 * 100);
    constexpr const char* what = "the time an idle worker looks for work is out of range";
    const std::string allowed = fmt::format("0 to {} (microseconds), forever", most.count());
    if (const auto spin = c.given().spin) {
        if (*spin == microseconds::max()) return for_ever;
        if (*spin < microseconds(0) || *spin > most)
            throw error(what, fmt::format("runtime_options::spin = {}", spin->count()), allowed);
        return *spin;
    }
    if (const auto chosen = c.variable("WEFT_SPIN")) {
        if (chosen->value == "forever") return for_ever;
        const auto n = parse<std::int64_t>(chosen->value);
        if (!n || *n < 0 || *n > most.count()) throw error(what, chosen->given, allowed);
        return microseconds(*n);
    }
    return engine::thread_engine_options{}.spin_time;
}

/// The cores of the workers; nothing if they are not pinned.
std::optional<pin_order> pin_order_of(const choices& c, const machine& m, int workers) {
    const auto chosen = c.text(&runtime_options::pin);
    // Several programs with few workers each would all be pinned to the same cores; one with a slot is placed by others.
    if (!chosen)
        return !m.is_modelled() && workers == m.size() && !c.text(&runtime_options::share)
                   ? std::optional(pin_order::compact)
                   : std::nullopt;
    if (chosen->value == "off") return std::nullopt;
    if (chosen->value != "compact" && chosen->value != "scatter")
        throw error("unknown way to pin workers", chosen->given, "compact, scatter, off");
    if (m.is_modelled())
        throw error("workers cannot be pinned to the cores of a described machine", chosen->given, "off");
    return chosen->value == "compact" ? pin_order::compact : pin_order::scatter;
}

engine::preemption_options preemption_of(const choices& c) {
    const auto chosen = c.text(&runtime_options::preempt);
    if (!chosen) return {};
    return parse_preemption(chosen->value, chosen->given);
}

/// A stretch of user code whose cost is measured is over when its cost is known, so it cannot be preempted.
engine::preemption_options preemption_in_model(const choices& c, bool measures) {
    const auto p = preemption_of(c);
    if (p.type != preemption::off && measures)
        throw error("the engine 'model' preempts tasks whose costs are declared only",
                    c.text(&runtime_options::preempt)->given + ", and costs that are measured",
                    "a program that calls weft::cost, with WEFT_COSTS=declared or none; or WEFT_PREEMPT=off");
    return p;
}

/// Returns whether the number of active workers is to follow the cores.
bool choose_active(const choices& c, settings& s, int workers, bool by_default) {
    const auto chosen = c.text(&runtime_options::active);
    if (!chosen) return by_default;
    if (chosen->value == "all") return false;
    s.active_given = chosen->given;
    if (chosen->value == "cores") {
        if (s.machine.is_modelled())
            throw error("a modelled machine has all its cores all the time", chosen->given,
                        "all, or a number; programs can call set_active_workers()");
        return true;
    }
    const auto n = parse<int>(chosen->value);
    if (!n || *n < 1 || *n > workers)
        throw error("the number of active workers is out of range", chosen->given,
                    fmt::format("all, cores, or 1 to {}, the number of workers", workers));
    s.active = *n;
    return false;
}

/// What `weft advise` has found by runs of its own, of the same program, comes before what `auto` would find.
std::string policy_of(const choices& c) {
    std::string chosen = c.value(&runtime_options::policy).value_or("steal");
    if (chosen.substr(0, chosen.find(':')) != "auto") return chosen;
    const auto advised = c.in_file("WEFT_POLICY");
    return advised ? advised->value : chosen;
}

/// Options of the engine `model` only.
void refuse_model_options(const choices& c) {
    for (const auto option : {&runtime_options::scenario, &runtime_options::costs})
        if (const auto chosen = c.text(option))
            throw error("only the engine 'model' understands this", chosen->given,
                        "WEFT_ENGINE=model with it");
}

bool measures_costs(const choices& c) {
    const auto chosen = c.text(&runtime_options::costs);
    if (!chosen) return impl::modules_with_costs.load(std::memory_order_relaxed) == 0;
    if (chosen->value != "declared" && chosen->value != "measured")
        throw error("unknown source of costs", chosen->given, "declared, measured");
    return chosen->value == "measured";
}

pin_order pin_order_in_model(const choices& c) {
    const auto chosen = c.text(&runtime_options::pin);
    if (!chosen) return pin_order::compact;
    if (chosen->value != "compact" && chosen->value != "scatter")
        throw error("unknown way to place virtual workers", chosen->given, "compact, scatter");
    return chosen->value == "scatter" ? pin_order::scatter : pin_order::compact;
}

void check_profile(const choices& c, int workers) {
    const auto profile = c.text(&runtime_options::profile);
    if (!profile) return;
    if (workers != 1)
        throw error("the profile of a program is made with one worker",
                    fmt::format("{} with {} workers", profile->given, workers), "WEFT_WORKERS=1");
    if (const auto trace = c.text(&runtime_options::trace))
        throw error("a run has a trace or a profile", fmt::format("{}, {}", trace->given, profile->given),
                    "one of them");
}

engine::record_options record_of(const choices& c, const char* engine_name, const std::string& policy,
                                 int workers) {
    check_profile(c, workers);
    const auto resources = c.value(&runtime_options::resources);
    return {.trace = c.value(&runtime_options::trace).value_or(""),
            .profile = c.value(&runtime_options::profile).value_or(""),
            .report = c.value(&runtime_options::report).value_or(""),
            .progress = c.value(&runtime_options::progress).value_or(""),
            .engine_name = engine_name,
            .policy_spec = policy,
            .seed = seed_of(c),
            .resources = resources ? read_resources(*resources) : ""};
}

/// The workers that the speeds are for: one for each. Throws weft::error if another number was chosen.
int workers_with(const std::vector<double>& speeds, const choices& c, const machine& m) {
    const int count = static_cast<int>(speeds.size());
    if (!c.has_workers()) return count;
    if (const int chosen = workers_of(c, m); chosen != count)
        throw error("there is a speed for each worker", fmt::format("{} speeds, {} workers", count, chosen),
                    "as many speeds as workers, or no number of workers");
    return count;
}

/// The speeds of the workers, which the machine has from now on; empty: they have none of their own.
std::vector<double> speeds_of(const choices& c, machine& m) {
    const auto chosen = c.text(&runtime_options::speeds);
    if (!chosen) return {};
    auto speeds = parse_speeds(chosen->value, chosen->given, m);
    if (chosen->value != speeds_of_machine) m = with_speeds(m, speeds);
    return speeds;
}

/// Cores for workers with speeds on this computer. WEFT_PIN=off: the workers share all of them.
void emulate(settings& s, const std::vector<double>& speeds, const choices& c) {
    const auto pin = c.text(&runtime_options::pin);
    if (pin && pin->value != "off")
        throw error("workers with speeds are spread over the cores by their speeds",
                    pin->given + " with WEFT_SPEEDS", "off, or no choice");
    s.threads.pin = !pin;
    s.threads.speeds = emulate_speeds(s.machine, speeds, usable_cpus(), cpu_quota(), s.threads.pin);
}

settings resolve_model(const choices& c, machine whole) {
    const auto speeds = speeds_of(c, whole);
    engine::model_engine_options m;
    m.workers = !speeds.empty()   ? workers_with(speeds, c, whole)
                : c.has_workers() ? workers_of(c, whole)
                                  : std::min(whole.size(), max_workers);
    if (m.workers > whole.size())
        throw error("more virtual workers than the machine has cores", fmt::format("{} workers", m.workers),
                    fmt::format("1 to {}, the cores of machine '{}'", whole.size(), whole.name()));
    m.seed = seed_of(c);
    m.stack_bytes = stack_of(c);
    m.most_waiting = most_waiting_of(c);
    m.spin_time = spin_time_of(c).count();
    m.measures = measures_costs(c);
    m.preempt = preemption_in_model(c, m.measures);
    settings s;
    s.policy = policy_of(c);
    m.record = record_of(c, "model", s.policy, m.workers);
    s.machine = m.workers < whole.size()
                    ? restrict_to(whole, ranks_for(whole, m.workers, pin_order_in_model(c)))
                    : std::move(whole);
    choose_active(c, s, m.workers, false);
    if (const auto file = c.value(&runtime_options::scenario))
        m.events = engine::load_scenario(*file, s.machine);
    s.model = std::move(m);
    return s;
}

resource_table resources_of(const choices& c, const machine& m) {
    const auto file = c.value(&runtime_options::resources);
    return file ? load_resources(*file, m) : resource_table{};
}

/// The workers that come to those on own cores: one for each core that may be borrowed.
void lend(settings& s, const std::vector<double>& speeds, const choices& c) {
    const auto chosen = c.text(&runtime_options::lend);
    if (!chosen) return;
    if (chosen->value != "off" && (s.machine.is_modelled() || !speeds.empty()))
        throw error("only workers on this computer's cores, as they are, can lend and borrow some",
                    chosen->given + (speeds.empty() ? " with a described machine" : " with WEFT_SPEEDS"),
                    "off");
    s.threads.lend = parse_lending(chosen->value, chosen->given, s.machine);
    const int room = max_workers - s.threads.workers;
    if (std::ssize(s.threads.lend.reach) > room) s.threads.lend.reach.resize(static_cast<std::size_t>(room));
    s.threads.workers += static_cast<int>(s.threads.lend.reach.size());
    s.threads.cores += static_cast<int>(s.threads.lend.reach.size());
}

} // namespace

settings resolve(const runtime_options& o, const machine* on) {
    const choices c(o);
    const auto engine = c.text(&runtime_options::engine);
    const std::string engine_name = engine ? engine->value : "threads";
    if (engine_name != "threads" && engine_name != "model")
        throw error("unknown engine", engine->given, "threads, model");

    settings s;
    const std::string spec = c.value(&runtime_options::machine).value_or("");
    if (engine_name == "model") {
        s = resolve_model(c, on ? *on : model_machine(spec));
        s.resources = resources_of(c, s.machine);
        return s;
    }
    refuse_model_options(c);
    machine whole = load_machine(spec);
    const auto speeds = speeds_of(c, whole);
    s.threads.workers = !speeds.empty()                           ? workers_with(speeds, c, whole)
                        : c.has_workers() || !whole.is_modelled() ? workers_of(c, whole)
                                                                  : std::min(whole.size(), max_workers);
    const bool follows = speeds.empty() && !c.has_workers() && !whole.is_modelled();
    s.threads.seed = seed_of(c);
    s.threads.stack_bytes = stack_of(c);
    s.threads.most_waiting = most_waiting_of(c);
    s.threads.spin_time = spin_time_of(c);
    s.threads.cores = usable_cores();
    s.threads.preempt = preemption_of(c);
    if (s.threads.preempt.type != preemption::off) s.threads.stack_bytes += signal_frame_bytes();
    const auto where = speeds.empty() ? pin_order_of(c, whole, s.threads.workers) : std::nullopt;
    s.threads.pin = where.has_value();
    s.threads.pin_without_work = !c.text(&runtime_options::pin);
    // The policy's machine has a rank for each worker; with more workers than cores, they start over.
    s.machine =
        s.threads.workers < whole.size()
            ? restrict_to(whole, ranks_for(whole, s.threads.workers, where.value_or(pin_order::compact)))
            : std::move(whole);
    if (!speeds.empty()) emulate(s, speeds, c);
    s.threads.follow_cores = choose_active(c, s, s.threads.workers, follows);
    lend(s, speeds, c);
    s.threads.share = c.value(&runtime_options::share).value_or("");
    s.resources = resources_of(c, s.machine);
    s.policy = policy_of(c);
    s.threads.record = record_of(c, "threads", s.policy, s.threads.workers);
    return s;
}

} // namespace weft::api
