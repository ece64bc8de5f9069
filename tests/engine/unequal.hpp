#pragma once

#include "engine/ports/host.hpp"
#include "engine/worker/worker.hpp"
#include "machine/load.hpp"

#include <weft/declare.hpp>

#include <cstdint>
#include <string>

/// A modelled machine with unequal cores, and what tasks do on it.
namespace weft::test {

/// The first core has speed 1, the others 0.5; a cycle is half a nanosecond on the first.
inline machine fast_and_slow(int slow, time_ns exchange) {
    std::string text = "name = 'unequal'\n[[core_class]]\nname = 'fast'\nfrequency_mhz = 2000\n"
                       "[[core_class]]\nname = 'slow'\nspeed = 0.5\n"
                       "[[domain]]\ncores = [{class = 'fast', count = 1}, {class = 'slow', count = " +
                       std::to_string(slow) + "}]\n[exchange]\nns = " + std::to_string(exchange) +
                       "\n[charges]\n";
    for (const char* of : {"fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock", "wake",
                           "woken", "exposure", "signal"})
        text += of + std::string("_ns = 0\n");
    return parse_toml(text, "unequal");
}

inline time_ns now() { return impl::hot_self()->host.now(); }
inline int core() { return impl::hot_self()->core(); }
/// Takes so many nanoseconds on the fast core.
inline void compute(time_ns ns) { cost(static_cast<std::uint64_t>(2 * ns)); }

} // namespace weft::test
