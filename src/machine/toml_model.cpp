#include "machine/toml_parts.hpp"

#include <array>
#include <utility>

namespace weft {

namespace {

constexpr number_range any_charge{0, 1e12, false};
constexpr number_range any_loads{0, 1e6, true};

} // namespace

void read_toml_charges(const toml_section& root, machine_parts& parts) {
    const auto s =
        root.table("charges", {"fork_ns", "spawn_ns", "start_ns", "suspend_ns", "wait_ns", "look_ns",
                               "look_away_ns", "lock_ns", "wake_ns", "woken_ns", "exposure_ns", "signal_ns"});
    if (!s) return;
    runtime_charges& c = parts.charges;
    const std::array<std::pair<const char*, double*>, 12> all = {{{"fork_ns", &c.fork},
                                                                  {"spawn_ns", &c.spawn},
                                                                  {"start_ns", &c.start},
                                                                  {"suspend_ns", &c.suspend},
                                                                  {"wait_ns", &c.wait},
                                                                  {"look_ns", &c.look},
                                                                  {"look_away_ns", &c.look_away},
                                                                  {"lock_ns", &c.lock},
                                                                  {"wake_ns", &c.wake},
                                                                  {"woken_ns", &c.woken},
                                                                  {"exposure_ns", &c.exposure},
                                                                  {"signal_ns", &c.signal}}};
    for (const auto& [key, value] : all) *value = s->number(key, any_charge, *value);
}

void read_toml_model(const toml_section& root, machine_parts& parts) {
    const auto s = root.table("model", {"block_bytes", "loads_in_flight", "host_speed", "work_per_cycle"});
    if (!s) return;
    model_settings& m = parts.model;
    if (s->has("block_bytes")) m.block_bytes = s->bytes("block_bytes");
    if (m.block_bytes > (std::int64_t{1} << 30)) s->refuse("block_bytes", "out of range", "at most 1 GiB");
    m.loads_in_flight = s->number("loads_in_flight", any_loads, m.loads_in_flight);
    m.host_speed = s->number("host_speed", any_speed, m.host_speed);
    m.work_per_cycle = s->number("work_per_cycle", any_speed, m.work_per_cycle);
}

} // namespace weft
