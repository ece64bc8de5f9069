#include "jpeg.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t images = 32, width = 1024, height = 768;
    bool unequal = false;
    examples::jpeg_costs costs;
    examples::program program("Reads images, compresses them and writes them as JPEG.",
                              "jpeg --images 100 --resources examples/jpeg/many_files.toml");
    program.add_resources(WEFT_EXAMPLE_FOLDER "/resources.toml");
    auto& options = program.options();
    options.add_option("--images", images, "images")->check(CLI::Range(1U, 100000U))->capture_default_str();
    options.add_option("--width", width, "pixels in a row")
        ->check(CLI::Range(1U, 65500U))
        ->capture_default_str();
    options.add_option("--height", height, "rows")->check(CLI::Range(1U, 65500U))->capture_default_str();

    options.add_flag("--unequal", unequal, "the images have all of these rows down to half of them");
    options.add_option("--disk", costs.disk,
                       "on a modelled machine, its disk that the files lie on; default: they are in memory");
    options
        .add_option("--compress-cycles", costs.compress_cycles,
                    "on a modelled machine, what a pixel costs to compress")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        auto made = [&](std::size_t i) {
            const std::uint64_t seed = program.seed() * 1'000'003 + i;
            const std::size_t least = unequal ? height - height / 2 : height; // rows
            return examples::make_image(width, least + examples::random_at(seed, 0) % (height - least + 1),
                                        seed);
        };
        examples::temporary_folder folder;
        examples::jpeg_pipeline pipeline(folder.path(), images, costs);
        auto rt = program.make_runtime();
        rt.run([&] {
            weft::parallel_for(std::size_t{0}, images,
                               [&](std::size_t i) { examples::write_ppm(pipeline.source(i), made(i)); });
        });
        const std::size_t tasks = rt.run([&] {
            weft::graph dag;
            pipeline.add_to(dag);
            dag.run();
            return dag.size();
        });
        auto stats = rt.stats();

        double worst = 0;
        for (std::size_t i = 0; i < images; ++i) {
            auto written = examples::decompress_jpeg(examples::read_file(pipeline.result(i)));
            worst = std::fmax(worst, examples::distance(made(i), written));
        }

        examples::report report;
        report.add("images", images);
        report.add("graph tasks", tasks);
        report.add("bytes written", pipeline.bytes_written());
        report.add("distance", worst);
        report.add_stats(stats);
        report.print(program.json());
        return worst < 6; // of 255
    });
}
