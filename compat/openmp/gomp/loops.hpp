#pragma once

#include "runtime/reductions.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <cstddef>
#include <cstdint>

/// What the entry points for loops of `long` and of `unsigned long long` have in common.
namespace weft::openmp::gomp {

/// How GOMP_loop_start and its like name a schedule.
inline constexpr long schedule_runtime = 0, schedule_static = 1, schedule_dynamic = 2, schedule_guided = 3,
                      schedule_auto = 4;
inline constexpr long schedule_mask = 0x7fff'ffff; // without the bit of the modifier monotonic

inline std::uint64_t count_up(std::uint64_t from, std::uint64_t to, std::uint64_t step) noexcept {
    return (to - from - 1) / step + 1;
}

inline loop_shape shape_of(long start, long end, long step, long chunk, schedule_kind how) noexcept {
    const auto s = static_cast<std::uint64_t>(start), e = static_cast<std::uint64_t>(end),
               i = static_cast<std::uint64_t>(step);
    loop_shape l{.first = s,
                 .step = i,
                 .last = e,
                 .chunk = chunk > 0 ? static_cast<std::uint64_t>(chunk) : 0,
                 .how = how};
    if (step > 0 && start < end) l.count = count_up(s, e, i);
    if (step < 0 && start > end) l.count = count_up(e, s, 0 - i);
    return l;
}

inline loop_shape shape_of_unsigned(bool up, std::uint64_t start, std::uint64_t end, std::uint64_t step,
                                    std::uint64_t chunk, schedule_kind how) noexcept {
    loop_shape l{.first = start, .step = step, .last = end, .chunk = chunk, .how = how};
    if (up && start < end) l.count = count_up(start, end, step);
    if (!up && start > end) l.count = count_up(end, start, 0 - step);
    return l;
}

/// The schedule and the chunk of schedule(runtime).
inline void use_runtime_schedule(const region& me, loop_shape& l) noexcept {
    l.how = me.icv.run_schedule.kind;
    l.chunk = static_cast<std::uint64_t>(me.icv.run_schedule.chunk);
    if (l.how == schedule_kind::by_auto) l.chunk = 0;
}

/// The same by the number of GOMP_loop_start.
inline void use_schedule(const region& me, long how, loop_shape& l) noexcept {
    switch (how & schedule_mask) {
    case schedule_static: l.how = schedule_kind::by_static; break;
    case schedule_dynamic: l.how = schedule_kind::by_dynamic; break;
    case schedule_guided: l.how = schedule_kind::by_guided; break;
    default: use_runtime_schedule(me, l); break; // schedule_auto: runtime with the modifier nonmonotonic
    }
}

template <class T>
bool next(T* istart, T* iend) {
    region& me = current_region();
    std::uint64_t begin = 0, end = 0;
    if (!next_chunk(me, begin, end)) return false;
    const loop_shape& l = me.on->share->loop;
    *istart = static_cast<T>(l.first + begin * l.step);
    *iend = static_cast<T>(end == l.count ? l.last : l.first + end * l.step);
    return true;
}

template <class T>
bool start(const share_request& r, T* istart, T* iend) {
    region& me = current_region();
    static_cast<void>(enter_share(me, r));
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(me, tool::work::loop, r.loop.count, nullptr);
    return next(istart, iend);
}

/// With task reductions, and with memory for the threads; either may be null, and then `istart` as well.
inline bool enter_with(share_request r, std::uintptr_t* reductions, void** memory) {
    region& me = current_region();
    if (reductions) begin_group(me, true);
    r.reductions = reductions;
    r.memory = memory ? reinterpret_cast<std::uintptr_t>(*memory) : 0;
    const bool is_first = enter_share(me, r);
    if (reductions) me.group->reductions = reductions;
    if (memory) *memory = me.on->share->memory;
    return is_first;
}

template <class T>
bool start_with(const share_request& r, T* istart, T* iend, std::uintptr_t* reductions, void** memory) {
    static_cast<void>(enter_with(r, reductions, memory));
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(current_region(), tool::work::loop, r.loop.count, nullptr);
    return istart ? next(istart, iend) : true;
}

/// A doacross nest: its outermost loop is shared.
template <class T>
bool start_doacross(unsigned loops, const T* counts, loop_shape l, T* istart, T* iend,
                    std::uintptr_t* reductions = nullptr, void** memory = nullptr) {
    static_assert(sizeof(T) == sizeof(std::uint64_t));
    l.first = 0;
    l.step = 1;
    l.count = l.last = static_cast<std::uint64_t>(counts[0]);
    share_request r{
        .loop = l, .doacross = reinterpret_cast<const std::uint64_t*>(counts), .doacross_loops = loops};
    return start_with(r, istart, iend, reductions, memory);
}

} // namespace weft::openmp::gomp
