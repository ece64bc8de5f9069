#include "dedup.hpp"

#include "../common/example.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

// A file, or all files below a folder, in the order of their names.
std::vector<std::uint8_t> read_input(const std::filesystem::path& path) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::is_directory(path)) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
            if (entry.is_regular_file()) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
    } else {
        files.push_back(path);
    }
    std::vector<std::uint8_t> all;
    for (const auto& f : files) {
        std::ifstream in(f, std::ios::binary);
        if (!in) throw examples::usage_error("cannot read " + f.string());
        all.insert(all.end(), std::istreambuf_iterator<char>(in), {});
    }
    return all;
}

} // namespace

int main(int argc, char** argv) {
    std::string input;
    double mbytes = 16, repeated = 0.4;
    std::size_t tokens = 0;
    examples::program program("Compresses its input and stores equal parts of it once.",
                              "dedup --input /usr/include --tokens 32");
    auto& options = program.options();
    options.add_option("--input", input, "a file, or a folder with all below it; default: text that is made");
    options.add_option("--mbytes", mbytes, "of the text that is made")
        ->check(CLI::Range(0.001, 4096.0))
        ->capture_default_str();
    options.add_option("--repeated", repeated, "part of that text which comes again")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    options
        .add_option("--tokens", tokens, "pieces that may be on their way at a time; 0: four for each worker")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    program.add_costs_only();

    return program.main(argc, argv, [&] {
        const std::vector<std::uint8_t> data =
            input.empty()
                ? examples::make_input(static_cast<std::size_t>(mbytes * 1e6), repeated, program.seed())
                : read_input(input);
        auto rt = program.make_runtime();
        if (tokens == 0) tokens = 4 * static_cast<std::size_t>(rt.workers());
        examples::deduplicator parallel(data), serial(data);
        rt.run([&] { parallel.run(tokens); });
        auto stats = rt.stats();

        examples::report report;
        report.add("bytes", data.size());
        report.add("chunks", parallel.chunks);
        report.add("duplicates", parallel.duplicates);
        if (program.costs_only()) return report.print_costs(stats, program.json());
        serial.run_serially();
        report.add("archive bytes", parallel.result.data().size());
        report.add_stats(stats);
        report.print(program.json());
        return parallel.result == serial.result && parallel.result.extract() == data;
    });
}
