#include "batch.hpp"

#include "../common/example.hpp"
#include "breeding.hpp"
#include "codecs.hpp"
#include "files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace {

struct options {
    std::size_t tasks = 128, alpha = 8;
    double cycles = 1e7;
    std::uint64_t seed = 1;
};

using maker = std::unique_ptr<examples::workload> (*)(const options&, bool checks);

template <class Codec>
std::unique_ptr<examples::workload> make_files(const options& o, bool checks) {
    return std::make_unique<examples::files<Codec>>(o.tasks, o.cycles, o.seed, checks);
}

std::unique_ptr<examples::workload> make_islands(const options& o, bool) {
    if (3 * o.alpha > o.tasks) throw examples::usage_error("--alpha: at most a third of the tasks");
    return std::make_unique<examples::breeding>(o.tasks, o.alpha, o.cycles, o.seed);
}

struct kind {
    const char* name;
    maker make;
};
constexpr kind kinds[] = {
#ifdef WEFT_EXAMPLE_DIVSUFSORT
    {"bwt", make_files<examples::bwt_codec>},
#endif
    {"dmc", make_files<examples::dmc_codec>}, {"ga", make_islands},
    {"lzw", make_files<examples::lzw_codec>},
#ifdef WEFT_EXAMPLE_NETTLE
    {"md5", make_files<examples::md5_codec>}, {"sha1", make_files<examples::sha1_codec>},
#endif
};

} // namespace

int main(int argc, char** argv) {
    options chosen;
    std::string name = "lzw";
    int batches = 10;
    examples::program program("Batches of independent tasks of different sizes, one batch after the other.",
                              "batch --kind ga --tasks 128 --alpha 20 --batches 50 --policy aats");
    std::vector<std::string> names;
    for (const kind& k : kinds) names.emplace_back(k.name);
    program.options()
        .add_option("--kind", name, "what the tasks do: transform, compress or hash files, or breed (ga)")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    program.options()
        .add_option("--tasks", chosen.tasks, "of a batch; of files there are 1 to a quarter more")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    program.options()
        .add_option("--alpha", chosen.alpha, "ga: islands of each of the three larger sizes")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    program.options().add_option("--batches", batches)->check(CLI::Range(1, 1 << 20))->capture_default_str();
    program.options()
        .add_option("--cycles", chosen.cycles, "that a largest task costs")
        ->check(CLI::Range(1.0, 1e12))
        ->capture_default_str();
    bool unchecked = false;
    program.options().add_flag("--no-check", unchecked,
                               "do not do all work again serially to compare the answers");
    program.add_costs_only();

    return program.main(argc, argv, [&] {
        chosen.seed = program.seed();
        const maker make = std::ranges::find(kinds, name, &kind::name)->make;
        const auto work = make(chosen, false);
        auto rt = program.make_runtime();
        std::vector<std::uint64_t> results;
        std::size_t tasks = 0;
        rt.run([&] {
            for (int b = 0; b < batches; ++b) {
                const std::size_t of_batch = work->begin_batch(b);
                tasks += of_batch;
                examples::run_batch(*work, of_batch);
                results.push_back(work->end_batch());
            }
        });

        examples::report report;
        report.add("batches", batches);
        report.add("tasks of batches", tasks);
        if (program.costs_only()) return report.print_costs(rt.stats(), program.json());
        report.add_stats(rt.stats());
        if (unchecked) {
            report.print(program.json());
            return true;
        }
        const auto reference = make(chosen, true);
        bool same = true;
        for (int b = 0; b < batches; ++b) {
            const std::size_t of_batch = reference->begin_batch(b);
            for (std::size_t i = 0; i < of_batch; ++i) reference->run(i);
            same = reference->end_batch() == results[static_cast<std::size_t>(b)] && same;
        }
        report.add("same as serial", same);
        report.print(program.json());
        return same;
    });
}
