#include "machine/toml_parts.hpp"

#include <fmt/format.h>

#include <string_view>

namespace weft {

namespace {

void is_default(machine_parts& parts, std::string_view table, std::string_view key) {
    parts.defaults.push_back({fmt::format("{}.{}", table, key), figure_source::typical});
}

} // namespace

void read_toml_charges(const toml_section& root, machine_parts& parts) {
    const auto s = root.table("charges", {"fork_ns", "spawn_ns", "start_ns", "suspend_ns", "stack_ns",
                                          "wait_ns", "look_ns", "look_away_ns", "lock_ns", "wake_ns",
                                          "woken_ns", "exposure_ns", "signal_ns"});
    for (const charge_key& c : charge_keys) {
        double& value = parts.charges.*c.charge;
        if (s && s->has(c.key))
            value = s->number(c.key, any_charge_ns);
        else
            is_default(parts, "charges", c.key);
    }
}

void read_toml_preemption(const toml_section& root, machine_parts& parts) {
    const auto s = root.table("preemption", {"interrupt_ns", "contention_ns", "one_to_all_ns", "forward_ns",
                                             "yield_ns", "klt_ns", "klt_futex_ns", "klt_sigsuspend_ns"});
    if (!s) return;
    for (const preemption_key& k : preemption_keys)
        parts.preemption.*k.charge = s->number(k.key, any_charge_ns, 0);
}

void read_toml_time_sharing(const toml_section& root, machine_parts& parts) {
    const auto s =
        root.table("time_sharing", {"latency_ns", "least_slice_ns", "wakes_before_ns", "switch_ns"});
    if (!s) return;
    for (const time_sharing_key& k : time_sharing_keys)
        parts.time_sharing.*k.value = s->number(k.key, any_charge_ns, parts.time_sharing.*k.value);
}

void read_toml_exchange(const toml_section& root, machine_parts& parts) {
    if (const auto s = root.table("exchange", {"ns"})) parts.exchange_ns = s->number("ns", any_charge_ns);
}

void read_toml_model(const toml_section& root, machine_parts& parts) {
    const auto s = root.table("model", {"block_bytes", "loads_in_flight", "host_speed", "work_per_cycle",
                                        "vector_work_per_cycle", "overlap"});
    model_settings& m = parts.model;
    for (const char* key : {"block_bytes", "loads_in_flight", "host_speed", "work_per_cycle"})
        if (!s || !s->has(key)) is_default(parts, "model", key);
    if (!s) return;
    if (s->has("block_bytes")) m.block_bytes = s->bytes("block_bytes");
    if (m.block_bytes > most_block_bytes) s->refuse("block_bytes", "out of range", "at most 1 GiB");
    m.loads_in_flight = s->number("loads_in_flight", any_loads, m.loads_in_flight);
    m.host_speed = s->number("host_speed", any_speed, m.host_speed);
    m.work_per_cycle = s->number("work_per_cycle", any_speed, m.work_per_cycle);
    m.vector_work_per_cycle = s->maybe_number("vector_work_per_cycle", any_speed);
    m.overlap = s->number("overlap", any_part, m.overlap);
}

} // namespace weft
