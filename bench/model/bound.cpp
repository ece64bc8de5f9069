// How near to a greedy schedule the default policy comes on machines with many cores: loops that add children to a group,
// in the model. A greedy schedule takes at most the work divided by the workers, plus the longest path: the loop that
// adds the children, the first wake-ups, and the last child. Virtual time, so each run gives the same.
//   machine="pack:4 core:8 pu:1" policy=steal children=20000
#include "../common/sample.hpp"

#include <nlohmann/json.hpp>

#include <weft/weft.hpp>

#include <cstdint>
#include <string>

namespace {

struct spawn_loop {
    int children;
    std::uint64_t cycles; ///< of each
};

/// What a greedy schedule may take over what the run took: 1 is the best there is, and more only if the runtime's own
/// work overlaps with the program's.
double of_the_greedy_bound(const weft::runtime_options& options, const spawn_loop& program) {
    weft::runtime rt(options);
    rt.run([&] {
        weft::task_group g;
        for (int i = 0; i < program.children; ++i) g.run([&] { weft::cost(program.cycles); });
        g.wait();
    });
    const auto report = nlohmann::json::parse(rt.report(weft::report_format::json));
    const auto figure = [&](const std::string& name) {
        for (const auto& f : report["figures"])
            if (f["figure"] == name) return f["value"].get<double>();
        throw std::runtime_error("the report has no figure " + name);
    };
    const double child_ns = static_cast<double>(program.cycles) * 1e3 / figure("core_class.frequency_mhz");
    const double greedy_ns = program.children * child_ns / rt.workers() +
                             program.children * figure("charges.spawn_ns") + figure("charges.woken_ns") +
                             6 * figure("charges.wake_ns") + child_ns;
    return greedy_ns / (report["seconds"].get<double>() * 1e9);
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        weft::runtime_options options;
        options.engine = "model";
        options.machine = given.text("machine", "pack:4 core:8 pu:1");
        options.policy = given.text("policy", "steal");
        options.seed = 1;
        for (const std::uint64_t us : {1, 9, 100})
            s.add("of_" + std::to_string(us) + "_us",
                  of_the_greedy_bound(options, {given.number("children", 20'000), us * 3000}));
    });
}
