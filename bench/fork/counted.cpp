// For callgrind: one form at one worker, its instructions in counted_region().
//   n=20 form=serial|calls|plain|lvalues|context
#include "fib.hpp"

#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <string>

namespace {
template <class Form>
[[gnu::noinline]] std::uint64_t counted_region(unsigned n, Form& form) {
    std::uint64_t result = form(n);
    bench::keep(result);
    return result;
}
} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        auto n = static_cast<unsigned>(given.number("n", 20));
        bench::keep(n);
        const std::string form = given.text("form", "plain");
        std::uint64_t result = 0;
        const auto count = [&](auto f) { result = counted_region(n, f); };
        if (form == "serial") {
            count([](unsigned k) { return bench::fib_serial(k); });
        } else if (form == "calls") {
            count([](unsigned k) { return bench::fib_calls(k); });
        } else {
            weft::runtime one(bench::with_workers(1));
            if (form == "plain")
                one.run([&] { count([](unsigned k) { return bench::fib_plain(k); }); });
            else if (form == "lvalues")
                one.run([&] { count([](unsigned k) { return bench::fib_lvalues(k); }); });
            else if (form == "context")
                one.run(
                    [&](weft::context at) { count([at](unsigned k) { return bench::fib_context(at, k); }); });
            else
                throw bench::usage_error("form=" + form +
                                         "; allowed: serial, calls, plain, lvalues, context");
        }
        s.check(result == bench::fib_by_iteration(n));
        s.add("forks", bench::fib_forks(n));
    });
}
