#pragma once

#include <cstdint>
#include <functional>
#include <string>

/// Schedules of the whole runtime, each determined by a seed.
///
/// The library and the test are compiled with -fsanitize=thread and linked with hooks.cpp in place of
/// ThreadSanitizer's runtime, so each of their atomic accesses calls the stepper. system.cpp takes their
/// calls of the system: threads, mutexes, condition variables, futexes, signals and clocks. One thread runs
/// at a time. At each step, which is an atomic access or such a call, the stepper draws the thread that runs
/// next. A thread that the system would block is not drawn. A signal arrives at the next step of the thread
/// that it was sent to. Time is the number of steps. So the same seed gives the same schedule, to the last
/// step, and a schedule in which no thread can continue is found at once.
///
/// Interleavings are sequentially consistent. The Relacy models (tests/model) cover weak memory orders, and
/// single_step_test covers signals between two instructions.
namespace weft::stepper {

struct schedule {
    std::uint64_t steps = 0;
    std::uint64_t switches = 0; ///< of threads
    std::uint64_t hash = 0;     ///< of the thread that ran at each step and the kind of the step
};

/// Runs `body` on the calling thread and every thread it starts, directly or not, under the schedule of
/// `seed`; all of them must have ended when it returns. If no thread can continue, or after `most` steps, it
/// prints the seed and what each thread waits for, and aborts.
schedule run(std::uint64_t seed, const std::function<void()>& body, std::uint64_t most = 20'000'000);

/// Sets what is printed of the program when no thread can continue.
void describe_by(std::function<std::string()>);

// ---- for hooks.cpp and system.cpp

/// True if the calling thread takes part in a run.
bool on() noexcept;
/// A step: the stepper may run another thread first.
void step(std::uint32_t what) noexcept;
/// A step after which other threads run first if any can.
void give_way() noexcept;

} // namespace weft::stepper
