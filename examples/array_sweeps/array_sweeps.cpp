#include "array_sweeps.hpp"

#include "../common/preempted_program.hpp"

int main(int argc, char** argv) {
    std::size_t threads_a_worker = 10;
    examples::sweep_settings s;
    examples::preempted_program program(
        "Threads that go through arrays of their own again and again.",
        "array_sweeps --kbytes 1024 --sweeps 1000 --preempt klt:interval=200us");
    auto& options = program.options();
    options.add_option("--threads-a-worker", threads_a_worker, "threads for each worker")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    options.add_option("--kbytes", s.kbytes, "of each thread's array")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--sweeps", s.sweeps, "times that each array is read")
        ->check(CLI::Range(1U, 1000000U))
        ->capture_default_str();
    options.add_flag("--writes", s.writes, "each number is changed, too");
    program.add_costs_only();

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        s.threads = threads_a_worker * static_cast<std::size_t>(rt.workers());
        examples::array_sweeps sweeps(s, program.seed());
        rt.run([&] { sweeps.run(program.type()); });
        const auto stats = rt.stats();
        examples::report report;
        report.add("threads", s.threads);
        report.add("preempt", program.preempt());
        if (program.costs_only()) return report.print_costs(stats, program.json());
        const bool right = sweeps.is_right(program.seed());
        report.add("right", right);
        report.add("bytes", sweeps.bytes());
        report.add("GB/s", static_cast<double>(sweeps.bytes() * s.sweeps) / stats.seconds * 1e-9);
        report.add_stats(stats);
        report.print(program.json());
        return right;
    });
}
