#include "fib.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    unsigned n = 35;
    bool context = false, hints = false;
    examples::program program("Fibonacci numbers, one fork a call, no cut-off.", "fib --n 40 --context");
    program.options().add_option("--n", n, "which number")->check(CLI::Range(0U, 60U))->capture_default_str();
    auto* flag =
        program.options().add_flag("--context", context, "pass the context down (the fastest form of join)");
    program.options()
        .add_flag("--hints", hints, "say that the first of two calls has twice the work of the other")
        ->excludes(flag);

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        std::uint64_t result = 0;
        if (context) {
            rt.run([&](weft::context here) { result = examples::fib(here, n); });
        } else if (hints) {
            rt.run([&] { result = examples::fib_with_hints(n); });
        } else {
            rt.run([&] { result = examples::fib(n); });
        }
        examples::report report;
        report.add("n", n);
        report.add("fib", result);
        report.add_stats(rt.stats());
        report.print(program.json());
        return result == examples::fib_by_iteration(n);
    });
}
