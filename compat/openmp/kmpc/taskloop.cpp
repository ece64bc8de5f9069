#include "runtime/taskloop.hpp"
#include "kmpc/tasks.hpp"
#include "runtime/team.hpp"

#include <cstdint>
#include <cstring>

/// __kmpc_taskloop: the compiled code gives one task as a pattern, with the bounds in it. Each task of the loop is a copy of it with bounds
/// of its own.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

/// How the clauses of the construct choose the number of tasks.
enum choice : std::int32_t { by_runtime = 0, by_grain = 1, by_number = 2 };

struct loop {
    std::uint64_t lower, upper, count;
    std::int64_t step;
};

std::uint64_t count_of(std::uint64_t lower, std::uint64_t upper, std::int64_t step) noexcept {
    if (step == 1) return upper - lower + 1;
    if (step > 0) return (upper - lower) / static_cast<std::uint64_t>(step) + 1;
    return (lower - upper) / (0 - static_cast<std::uint64_t>(step)) + 1;
}

taskloop_cut cut_of(std::uint64_t n, std::int32_t how, std::uint64_t given, bool strict,
                    int threads) noexcept {
    constexpr std::uint64_t tasks_per_thread = 10; // as libomp, so that uneven iterations are balanced
    if (how == by_grain) return cut_by_grain(n, given, strict);
    return cut_by_number(n,
                         how == by_number ? given : tasks_per_thread * static_cast<std::uint64_t>(threads));
}

/// Writes a bound into a copy, where the pattern has it.
void write(task& copy, const task& pattern, const std::uint64_t* at, std::uint64_t value) noexcept {
    const auto offset = reinterpret_cast<const char*>(at) - reinterpret_cast<const char*>(&pattern);
    std::memcpy(reinterpret_cast<char*>(&copy) + offset, &value, sizeof value);
}

using duplicate = void (*)(task*, task*, std::int32_t);

void run(task& pattern, bool is_deferrable, const std::uint64_t* lower, const std::uint64_t* upper,
         std::int64_t step, bool has_group, std::int32_t how, std::uint64_t given, bool strict,
         duplicate copy_private_data) {
    region& me = current_region();
    const std::uint64_t first = *lower, n = count_of(first, *upper, step);
    if (has_group) begin_group(me, false);
    const taskloop_cut c = n ? cut_of(n, how, given, strict, me.in->size) : taskloop_cut{};
    for (std::uint64_t i = 0, at = 0; i < c.tasks && !discards_tasks(me); ++i) {
        const std::uint64_t size = c.size_of(i);
        task& t = copy_task(me, pattern);
        write(t, pattern, lower, first + at * static_cast<std::uint64_t>(step));
        at += size;
        write(t, pattern, upper, first + (at - 1) * static_cast<std::uint64_t>(step));
        if (copy_private_data) copy_private_data(&t, &pattern, i + 1 == c.tasks);
        submit(me, t, nullptr, is_deferrable);
    }
    if (has_group) end_taskgroup(me);
    discard(pattern);
}

} // namespace

extern "C" {

void __kmpc_taskloop(location*, gtid, task* pattern, std::int32_t is_deferrable, std::uint64_t* lower,
                     std::uint64_t* upper, std::int64_t step, std::int32_t has_no_group, std::int32_t how,
                     std::uint64_t given, duplicate copy) {
    run(*pattern, is_deferrable != 0, lower, upper, step, !has_no_group, how, given, false, copy);
}
void __kmpc_taskloop_5(location*, gtid, task* pattern, std::int32_t is_deferrable, std::uint64_t* lower,
                       std::uint64_t* upper, std::int64_t step, std::int32_t has_no_group, std::int32_t how,
                       std::uint64_t given, std::int32_t modifier, duplicate copy) {
    run(*pattern, is_deferrable != 0, lower, upper, step, !has_no_group, how, given, modifier != 0, copy);
}

} // extern "C"
