#pragma once

#include <cstdint>
#include <functional>
#include <string>

/// Whole-runtime schedules by seed.
///
/// The library and the test are compiled with -fsanitize=thread and linked with hooks.cpp in place of
/// ThreadSanitizer's runtime, so every atomic access of theirs calls the stepper; and what they ask of the
/// system (threads, mutexes, condition variables, futexes, signals, clocks) comes to system.cpp instead. Of
/// all threads one runs at a time. At each of these steps the stepper draws who goes on; a thread that the
/// system would block is out of the draw, and a signal arrives at the next step of whom it was sent to. Time
/// is the number of steps. So the same seed gives the same schedule, to the last step, and a schedule in
/// which nobody can go on is found at once.
///
/// Interleavings are sequentially consistent: weak memory orders are the Relacy models' (tests/model),
/// signals between two instructions single_step_test's.
namespace weft::stepper {

struct schedule {
    std::uint64_t steps = 0;
    std::uint64_t switches = 0; ///< of threads
    std::uint64_t hash = 0;     ///< of who ran at each step and what the step was
};

/// Runs `body` on the calling thread and every thread it starts, directly or not, under the schedule of
/// `seed`; all of them must have ended when it returns. Aborts, saying the seed and what each thread waits
/// for, when nobody can go on, or after `most` steps.
schedule run(std::uint64_t seed, const std::function<void()>& body, std::uint64_t most = 20'000'000);

/// What is said of the program when nobody can go on.
void describe_by(std::function<std::string()>);

// ---- for hooks.cpp and system.cpp

/// The calling thread takes part in a run.
bool on() noexcept;
/// A step: another thread may go on first.
void step(std::uint32_t what) noexcept;
/// A step after which others go first if they can.
void give_way() noexcept;

} // namespace weft::stepper
