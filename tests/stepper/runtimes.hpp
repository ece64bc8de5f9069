#pragma once

#include <weft/runtime.hpp>
#include <weft/this_task.hpp>

#include <cstdint>
#include <string>

#include "engine/support.hpp"
#include "stepper/stepper.hpp"

/// Runtimes for the stepper.
namespace weft::stepper {

/// WEFT_TEST_SCHEDULES: the number of schedules of random programs.
inline const auto schedules_given = test::take_variable("WEFT_TEST_SCHEDULES");

inline runtime_options options(const std::string& policy, int workers, std::uint64_t seed,
                               const char* machine = "pack:1 l3:1 core:4 pu:1") {
    runtime_options o = test::setup{policy, workers}.options();
    o.machine = machine;
    o.seed = seed;
    o.stack_bytes = 256 * 1024;
    return o;
}

/// Does once what a process does only once, which takes steps as well. After this, a seed determines the
/// schedule, whatever ran before.
inline void warm_up() {
    run(1, [] {
        runtime rt(options("steal", 2, 1));
        rt.run([] { this_task::yield(); });
    });
}

} // namespace weft::stepper
