// One program for each runtime: builds a graph and runs it once, and again where the runtime can.
//   shape=wavefront|layered n=1024 workers=1 check=0
//
// Before the clock starts a small graph is built and run, whose tasks look at their predecessors; with
// check=1 the large one is, and no time is taken.
//
// A runtime has a constructor from (bench::arguments, workers) and
//   struct graph                              what is kept of a graph; made empty
//   build_and_run(graph&, shape, tasks&)      tasks.body(number) makes the closure of a task
//   run_again(graph&)                         left out if a graph serves once
#pragma once

#include "tasks.hpp"

#include "../common/backed_memory.hpp"
#include "../common/peak_memory.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

namespace dag {

template <class Runtime, class Shape>
bool is_right(Runtime& rt, const Shape& shape) {
    checked_tasks<Shape> tasks(shape);
    typename Runtime::graph g;
    bool right = tasks.watch([&] { rt.build_and_run(g, shape, tasks); });
    if constexpr (requires { rt.run_again(g); }) right &= tasks.watch([&] { rt.run_again(g); });
    return right;
}

template <class Runtime, class Shape>
void measure(Runtime& rt, const Shape& shape, bench::sample& s) {
    const double tasks = size(shape);
    empty_tasks empty;
    typename Runtime::graph g;
    const double whole = bench::time_ns([&] { rt.build_and_run(g, shape, empty); });
    s.add("tasks_per_second", tasks * 1e9 / whole);
    s.add("task", whole / tasks);
    if constexpr (requires { rt.run_again(g); })
        s.add("again", bench::best_ns(3, [&] { rt.run_again(g); }) / tasks);
    s.add("mb", bench::peak_mb());
}

template <class Runtime, class Shape>
void take(const bench::arguments& given, bench::sample& s) {
    const int workers = given.number("workers", 1);
    const int n = given.number("n", 1024);
    if (n < 1 || n >= 1 << 16) throw bench::usage_error("n: from 1 to 65535");
    const Shape shape{static_cast<number>(n)};
    bench::back_memory(512);
    Runtime rt(given, workers);
    if (given.number("check", 0) != 0) return s.check(is_right(rt, shape));
    s.check(is_right(rt, Shape{64}));
    const auto measured = [&] { measure(rt, shape, s); };
    if (workers > 1)
        s.with_both_cores(measured);
    else
        measured();
}

template <class Runtime>
int program(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const std::string shape = given.text("shape", "wavefront");
        if (shape == "wavefront")
            take<Runtime, wavefront>(given, s);
        else if (shape == "layered")
            take<Runtime, layered>(given, s);
        else
            throw bench::usage_error("shape=" + shape + "; allowed: wavefront layered");
    });
}

} // namespace dag
