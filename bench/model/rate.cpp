// How fast the model engine is, on one core: events a second while a program forks all the time, and how long
// sweeps over a large grid on 16 virtual workers take.
//   n=13
#include <heat2d/heat2d.hpp>
#include <nqueens/nqueens.hpp>

#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

weft::runtime modelled(const std::string& machine) {
    weft::runtime_options o;
    o.engine = "model";
    o.machine = machine;
    o.seed = 1;
    return weft::runtime(o);
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const std::string machine = given.text("machine", WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml");
        const auto n = static_cast<unsigned>(given.number("n", 13));
        auto rt = modelled(machine);
        std::uint64_t solutions = 0;
        const double ns = bench::time_ns([&] { rt.run([&] { solutions = examples::nqueens({n}, 20); }); });
        const auto report = nlohmann::json::parse(rt.report(weft::report_format::json));
        s.add("events_per_second", report["events"].get<double>() * 1e9 / ns);
        s.check(solutions == examples::nqueens_solutions[n]);

        examples::grid a(1024, 1024), b(1024, 1024), c(1024, 1024), d(1024, 1024);
        const examples::heat_mode mode{};
        rt.run([&] { examples::heat_start(a, b, mode, 32); });
        s.add("heat_seconds", bench::time_ns([&] { rt.run([&] { examples::heat(a, b, 10, 32); }); }) * 1e-9);
        examples::heat_start(c, d, mode, 1024);
        examples::heat_serial(c, d, 10);
        s.check(examples::same_values(a, c));
    });
}
