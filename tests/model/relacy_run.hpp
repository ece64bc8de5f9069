// Runs the scenarios of a model check: first the structure as it is, which must pass, then, if it did, each
// mutant, which some scenario must notice.
//
//   <program>                  everything; 0 if the structure passed and every mutant was noticed
//   <program> --history NAME   one mutant (or "none"), with the interleaving that failed
#pragma once

#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <ostream>
#include <span>
#include <string_view>

#include "relacy_sync.hpp"

namespace weft::model {

struct outcome {
    rl::test_result_e result;
    rl::iteration_t iteration;
};

// True while the mutant of that name is tried: for mistakes in the order of steps, which a model makes
// itself.
inline bool made(std::string_view name) {
    return relacy_sync::active != nullptr && relacy_sync::active->name == name;
}

struct scenario {
    const char* name;
    rl::iteration_t interleavings; // this many random ones; 0: all with at most two preemptions
    outcome (*search)(rl::iteration_t, bool history);
};

// One scenario. The seed of a random interleaving is its number, so every run is the same.
template <class Test>
outcome search(rl::iteration_t interleavings, bool history) {
    std::ostream nowhere(nullptr);
    rl::test_params params;
    params.iteration_count = interleavings;
    params.search_type = interleavings == 0 ? rl::sched_bound : rl::sched_random;
    params.context_bound = 2;
    params.execution_depth_limit = 2000;
    params.progress_stream = &nowhere;
    params.output_stream = history ? &std::cout : &nowhere;
    rl::simulate<Test>(params);
    return {params.test_result, params.stop_iteration};
}

inline int run_model(int argc, char** argv, std::span<const scenario> scenarios,
                     std::span<const mutant> mutants) {
    const bool history = argc == 3 && std::strcmp(argv[1], "--history") == 0;
    const auto started = std::chrono::steady_clock::now();
    int failures = 0;
    const auto run = [&](const mutant* changed) {
        relacy_sync::active = changed;
        const char* const what = changed == nullptr ? "none" : changed->name;
        if (history && std::strcmp(argv[2], what) != 0) return;
        for (const scenario& each : scenarios) {
            if (changed != nullptr && each.interleavings == 0) continue;
            // Those that are beyond the checker are not expected to be seen: a short look keeps the claim honest.
            const bool hopeless = changed != nullptr && changed->beyond != nullptr;
            const outcome found = each.search(each.interleavings / (hopeless ? 10 : 1), history);
            if (found.result == rl::test_result_success) {
                if (changed == nullptr) {
                    std::printf("passed   %-28s %llu interleavings\n", each.name,
                                static_cast<unsigned long long>(found.iteration));
                }
                continue;
            }
            if (changed == nullptr) {
                ++failures;
                std::printf("FAILED   %-28s interleaving %llu: %s\n", each.name,
                            static_cast<unsigned long long>(found.iteration),
                            rl::test_result_str(found.result));
                continue;
            }
            std::printf("killed   %-36s by %s, interleaving %llu: %s\n", what, each.name,
                        static_cast<unsigned long long>(found.iteration), rl::test_result_str(found.result));
            if (changed->beyond != nullptr) {
                ++failures;
                std::printf("FAILED   it was said to be beyond the checker: %s\n", changed->beyond);
            }
            return;
        }
        if (changed == nullptr) return;
        if (changed->beyond == nullptr) ++failures;
        std::printf("%s %-36s %s\n", changed->beyond == nullptr ? "SURVIVED" : "beyond  ", what,
                    changed->beyond == nullptr ? "" : changed->beyond);
    };
    run(nullptr);
    if (failures == 0) // what is wrong already would notice every mutant
        for (const mutant& each : mutants) run(&each);
    relacy_sync::active = nullptr;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    std::printf("%s in %.1f s\n", failures == 0 ? "ok" : "NOT ok", took.count());
    return failures == 0 ? 0 : 1;
}

} // namespace weft::model
