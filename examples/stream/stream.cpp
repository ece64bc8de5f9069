#include "stream.hpp"

#include "../common/example.hpp"

#include <map>
#include <string>

int main(int argc, char** argv) {
    examples::stream_settings s;
    examples::program program("Memory by itself: its bandwidth for so many cores, and the time of a load.",
                              "stream --kernel chase --workers 1");
    const std::map<std::string, examples::stream_kernel> kernels = {
        {"read", examples::stream_kernel::read},
        {"triad", examples::stream_kernel::triad},
        {"chase", examples::stream_kernel::chase}};
    auto& options = program.options();
    options.add_option("--kernel", s.kernel, "read, triad or chase")
        ->transform(CLI::CheckedTransformer(kernels))
        ->default_str("read");
    options.add_option("--kbytes", s.kbytes, "of each array of each worker; triad has three")
        ->check(CLI::Range(1U, 1U << 22))
        ->capture_default_str();
    options.add_option("--sweeps", s.sweeps, "times that each array is read")
        ->check(CLI::Range(1U, 1U << 16))
        ->capture_default_str();
    auto* node =
        options.add_option("--node", s.node, "all memory is on this node; otherwise on that of the worker");
    node->check(CLI::Range(0U, 65535U));
    bool interleaved = false;
    auto* interleave = options.add_flag("--interleave", interleaved, "memory from all nodes in turn");
    interleave->excludes(node);

    return program.main(argc, argv, [&] {
        if (node->count() > 0) s.place = examples::stream_place::one_node;
        if (interleaved) s.place = examples::stream_place::all_nodes;
        auto rt = program.make_runtime();
        bool right = false;
        rt.run([&] { right = examples::stream(s, rt.workers(), program.seed()); });
        const auto stats = rt.stats();
        const std::size_t arrays = s.kernel == examples::stream_kernel::triad ? 3 : 1;
        const double bytes = static_cast<double>(arrays * s.kbytes * s.sweeps) * 1024;

        examples::report report;
        report.add("right", right);
        report.add("bytes", bytes * rt.workers());
        report.add("GB/s", bytes * rt.workers() / stats.seconds * 1e-9);
        report.add("ns a line", stats.seconds * 1e9 / (bytes / 64));
        report.add_stats(stats);
        report.print(program.json());
        return right;
    });
}
