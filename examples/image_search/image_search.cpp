#include "image_search.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    examples::image_search::sizes size;
    std::size_t tokens = 0;
    examples::program program("Finds the pictures of a database that resemble given ones.",
                              "image_search --scenes 1000 --queries 500 --tokens 32");
    auto& options = program.options();
    options.add_option("--scenes", size.scenes, "scenes of which the database has pictures")
        ->check(CLI::Range(1U, 1'000'000U))
        ->capture_default_str();
    options.add_option("--views", size.views, "pictures of each scene")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    options.add_option("--queries", size.queries, "pictures to look for")
        ->check(CLI::Range(1U, 1'000'000U))
        ->capture_default_str();
    options.add_option("--width", size.width, "pixels in a row")
        ->check(CLI::Range(8U, 8192U))
        ->capture_default_str();
    options.add_option("--height", size.height, "rows")->check(CLI::Range(8U, 8192U))->capture_default_str();
    options
        .add_option("--tokens", tokens, "queries that may be on their way at a time; 0: four for each worker")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::image_search parallel(size, program.seed()), serial(size, program.seed());
        parallel.fill_database();
        serial.fill_database();
        auto rt = program.make_runtime();
        if (tokens == 0) tokens = 4 * static_cast<std::size_t>(rt.workers());
        rt.run([&] { parallel.run(tokens); });
        auto stats = rt.stats();
        serial.run_serially();

        examples::report report;
        report.add("images", parallel.database.images.size());
        report.add("queries", size.queries);
        report.add("right", parallel.right());
        report.add_stats(stats);
        report.print(program.json());
        // A query whose picture was found by its segments shows a view of its own scene.
        return parallel.found == serial.found && 10 * parallel.right() >= 8 * size.queries;
    });
}
