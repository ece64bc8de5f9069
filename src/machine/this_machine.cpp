#include "machine/this_machine.hpp"

#include "machine/load.hpp"
#include "machine/quota.hpp"

#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace weft {

namespace {

/// What may change while the process runs and changes what hwloc finds: the processors and memory nodes that the calling
/// thread may use (affinity, cpuset control group), the processors that are online, and hwloc's own variables. Empty if
/// the system does not say.
std::string conditions() {
    std::ifstream status("/proc/thread-self/status"), online("/sys/devices/system/cpu/online");
    std::ostringstream text;
    int masks = 0;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Cpus_allowed:") || line.starts_with("Mems_allowed:")) {
            text << line << '\n';
            ++masks;
        }
    if (masks != 2 || !online) return {};
    text << online.rdbuf();
    for (char** variable = environ; *variable; ++variable)
        if (std::string_view(*variable).starts_with("HWLOC_")) text << *variable << '\n';
    return std::move(text).str();
}

struct known_machine {
    std::string conditions;
    machine_parts parts;
    const known_machine* next = nullptr;
    int count = 1; // of this one and those behind it
};

/// Those found so far, the latest first. Nothing is ever taken out, so that no lock is needed, which another thread might
/// hold when the process forks.
constinit std::atomic<const known_machine*> known{nullptr};
/// A program that makes runtimes on more sets of processors than this reads the others each time.
constexpr int most_known = 32;

void keep(std::string conditions, const machine_parts& parts) {
    auto made = std::make_unique<known_machine>(std::move(conditions), parts);
    made->next = known.load(std::memory_order_acquire); // pairs with the exchange below: its count
    do {
        made->count = made->next ? made->next->count + 1 : 1;
        if (made->count > most_known) return;
        // release: pairs with the loads here and in parts_here()
    } while (!known.compare_exchange_weak(made->next, made.get(), std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    static_cast<void>(made.release());
}

machine_parts parts_here() {
    const std::string before = conditions();
    if (before.empty()) return read_this_machine();
    // acquire: pairs with the exchange in keep()
    for (auto* k = known.load(std::memory_order_acquire); k; k = k->next)
        if (k->conditions == before) return k->parts;
    machine_parts found = read_this_machine();
    if (conditions() == before) keep(before, found); // else they changed while hwloc read
    return found;
}

} // namespace

machine this_machine() {
    machine_parts parts = parts_here();
    parts.cpu_quota = cpu_quota();
    return machine(std::move(parts));
}

} // namespace weft
