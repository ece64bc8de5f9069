#include "barriers.hpp"

#include "../common/preempted_program.hpp"

int main(int argc, char** argv) {
    std::size_t threads_a_worker = 10, rounds = 100;
    examples::preempted_program program(
        "Many threads that meet at a barrier again and again.",
        "barriers --rounds 1000 --barrier pthread --preempt yield:interval=1ms");
    program.options()
        .add_option("--threads-a-worker", threads_a_worker, "threads for each worker")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    program.options()
        .add_option("--rounds", rounds, "times that they meet")
        ->check(CLI::Range(1U, 1000000U))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        const std::size_t threads = threads_a_worker * static_cast<std::size_t>(rt.workers());
        examples::repeated_meeting meeting(threads, rounds);
        rt.run([&] { meeting.run(program.barrier(), program.type()); });
        const auto stats = rt.stats();
        const auto waits = static_cast<double>(rounds) * static_cast<double>(threads_a_worker - 1);

        examples::report report;
        report.add("threads", threads);
        report.add("preempt", program.preempt());
        report.add("early", meeting.early());
        report.add("passed", meeting.passed());
        // By how much each further thread of a worker delays a round: ideally an interval.
        if (threads_a_worker > 1) report.add("ms a thread", stats.seconds * 1e3 / waits);
        report.add_stats(stats);
        report.print(program.json());
        return meeting.early() == 0 && meeting.passed() == threads * rounds;
    });
}
