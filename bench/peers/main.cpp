// One workload on one runtime, measured once: the program is built once for each runtime.
//   workload=fib workers=1 n=SIZE
//
// Prints seconds (or what the workload measures) and the peak memory of the process; or `absent`, what the
// runtime would need for it.
#include PEERS_RUNTIME

#include "workloads/fib.hpp"
#include "workloads/idle.hpp"
#include "workloads/integrate.hpp"
#include "workloads/library_sort.hpp"
#include "workloads/long_loop.hpp"
#include "workloads/matmul.hpp"
#include "workloads/merge_sort.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/short_loops.hpp"
#include "workloads/skynet.hpp"
#include "workloads/spawn_loop.hpp"
#include "workloads/uneven_loop.hpp"
#include "workloads/uts.hpp"
#include "workloads/wake.hpp"

#include "../common/peak_memory.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <string>

#if __has_include(<valgrind/callgrind.h>)
#    include <valgrind/callgrind.h>
#else
#    define CALLGRIND_TOGGLE_COLLECT
#endif

namespace {

using strand = peers::runtime::strand;

// What callgrind counts. Its requests, since it loses the exits of functions where stacks are switched.
template <class Workload>
void counted_region(Workload& work, strand here) {
    CALLGRIND_TOGGLE_COLLECT;
    work.run(here);
    CALLGRIND_TOGGLE_COLLECT;
}

template <class Workload>
void run_once(peers::runtime& rt, Workload& work) {
    const auto body = [&](strand here) { counted_region(work, here); };
    if constexpr (requires { Workload::is_loop; })
        rt.run_loops(body);
    else
        rt.run(body);
}

template <class Workload>
void measure(peers::runtime& rt, const bench::arguments& given, bench::sample& s) {
    if constexpr (requires { Workload::measure(rt, s); }) {
        Workload::measure(rt, s);
    } else if constexpr (requires(Workload work, strand here) { work.run(here); }) {
        Workload work(given.number("n", Workload::size));
        if (given.number("warm", 1) != 0) {
            Workload small(Workload::warm);
            run_once(rt, small);
            s.check(small.is_right());
        }
        s.add("seconds", bench::time_ns([&] { run_once(rt, work); }) * 1e-9);
        s.add("mb", bench::peak_mb());
        s.check(work.is_right());
        if constexpr (requires { work.nodes(); }) s.add("nodes", work.nodes());
    } else {
        s.add_text("absent", "no " + std::string(Workload::needs));
    }
}

template <class... Workloads>
void measure_one_of(const std::string& name, const bench::arguments& given, bench::sample& s) {
    peers::runtime rt(given.number("workers", 1));
    const bool found = ((name == Workloads::name && (measure<Workloads>(rt, given, s), true)) || ...);
    if (!found)
        throw bench::usage_error("workload=" + name +
                                 "; allowed:" + ((" " + std::string(Workloads::name)) + ...));
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        using namespace peers;
        measure_one_of<fib, integrate, nqueens, uts, uts_groups, matmul, merge_sort, library_sort, long_loop,
                       short_loops, uneven_loop, skynet, spawns_100ns, spawns_1us, spawns_20us, spawns_100us,
                       spawns_uneven, spawns_nested, wake, idle>(given.text("workload", "fib"), given, s);
    });
}
