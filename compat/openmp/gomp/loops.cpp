#include "gomp/loops.hpp"

/// GOMP_loop_*: loops whose variable is a `long`.
using namespace weft::openmp;
using namespace weft::openmp::gomp;

extern "C" {

// schedule(...) without and with ordered; the compiler calls one of them when a thread comes to the loop.
#define WEFT_LOOP(name, kind, ordered)                                                                       \
    bool GOMP_loop_##name##_start(long start_, long end_, long step, long chunk, long* istart, long* iend) { \
        return start(                                                                                        \
            {.loop = shape_of(start_, end_, step, chunk, schedule_kind::kind), .is_ordered = ordered},       \
            istart, iend);                                                                                   \
    }                                                                                                        \
    bool GOMP_loop_##name##_next(long* istart, long* iend) { return next(istart, iend); }

WEFT_LOOP(static, by_static, false)
WEFT_LOOP(dynamic, by_dynamic, false)
WEFT_LOOP(guided, by_guided, false)
WEFT_LOOP(nonmonotonic_dynamic, by_dynamic, false)
WEFT_LOOP(nonmonotonic_guided, by_guided, false)
WEFT_LOOP(ordered_static, by_static, true)
WEFT_LOOP(ordered_dynamic, by_dynamic, true)
WEFT_LOOP(ordered_guided, by_guided, true)

#define WEFT_RUNTIME_LOOP(name, ordered)                                                                     \
    bool GOMP_loop_##name##_start(long start_, long end_, long step, long* istart, long* iend) {             \
        share_request r{.loop = shape_of(start_, end_, step, 0, schedule_kind::by_static),                   \
                        .is_ordered = ordered};                                                              \
        use_runtime_schedule(current_region(), r.loop);                                                      \
        return start(r, istart, iend);                                                                       \
    }                                                                                                        \
    bool GOMP_loop_##name##_next(long* istart, long* iend) { return next(istart, iend); }

WEFT_RUNTIME_LOOP(runtime, false)
WEFT_RUNTIME_LOOP(nonmonotonic_runtime, false)
WEFT_RUNTIME_LOOP(maybe_nonmonotonic_runtime, false)
WEFT_RUNTIME_LOOP(ordered_runtime, true)

#define WEFT_GENERAL_LOOP(name, ordered)                                                                     \
    bool GOMP_##name(long start_, long end_, long step, long how, long chunk, long* istart, long* iend,      \
                     std::uintptr_t* reductions, void** memory) {                                            \
        share_request r{.loop = shape_of(start_, end_, step, chunk, schedule_kind::by_static),               \
                        .is_ordered = ordered};                                                              \
        use_schedule(current_region(), how, r.loop);                                                         \
        return start_with(r, istart, iend, reductions, memory);                                              \
    }

WEFT_GENERAL_LOOP(loop_start, false)
WEFT_GENERAL_LOOP(loop_ordered_start, true)

#define WEFT_DOACROSS(name, kind)                                                                            \
    bool GOMP_loop_doacross_##name##_start(unsigned loops, long* counts, long chunk, long* istart,           \
                                           long* iend) {                                                     \
        return start_doacross(loops, counts, shape_of(0, 0, 1, chunk, schedule_kind::kind), istart, iend);   \
    }

WEFT_DOACROSS(static, by_static)
WEFT_DOACROSS(dynamic, by_dynamic)
WEFT_DOACROSS(guided, by_guided)

bool GOMP_loop_doacross_runtime_start(unsigned loops, long* counts, long* istart, long* iend) {
    loop_shape l;
    use_runtime_schedule(current_region(), l);
    return start_doacross(loops, counts, l, istart, iend);
}

bool GOMP_loop_doacross_start(unsigned loops, long* counts, long how, long chunk, long* istart, long* iend,
                              std::uintptr_t* reductions, void** memory) {
    loop_shape l = shape_of(0, 0, 1, chunk, schedule_kind::by_static);
    use_schedule(current_region(), how, l);
    return start_doacross(loops, counts, l, istart, iend, reductions, memory);
}

void GOMP_loop_end() {
    region& me = current_region();
    if (me.on->share->is_ordered && me.on->at.has_chunk) pass_turn(*me.on, *me.on->share);
    static_cast<void>(pass_barrier(me, false, tool::sync::barrier_workshare, WEFT_CALLER));
}
void GOMP_loop_end_nowait() {
    region& me = current_region();
    if (me.on->share->is_ordered && me.on->at.has_chunk) pass_turn(*me.on, *me.on->share);
    if (tool::is_on()) [[unlikely]]
        tool::work_ends(me, WEFT_CALLER);
}
bool GOMP_loop_end_cancel() {
    return pass_barrier(current_region(), true, tool::sync::barrier_workshare, WEFT_CALLER);
}

// parallel for, combined: the threads begin inside of the loop.
#define WEFT_PARALLEL_LOOP(name, kind)                                                                       \
    void GOMP_parallel_loop_##name(void (*code)(void*), void* data, unsigned threads, long start_,           \
                                   long end_, long step, long chunk, unsigned flags) {                       \
        const share_request r{.loop = shape_of(start_, end_, step, chunk, schedule_kind::kind)};             \
        begin_parallel(team_size(current_region(), threads), code, data, &r, static_cast<int>(flags & 7),    \
                       nullptr, WEFT_CALLER);                                                                \
        code(data);                                                                                          \
        end_parallel(WEFT_CALLER);                                                                           \
    }

WEFT_PARALLEL_LOOP(static, by_static)
WEFT_PARALLEL_LOOP(dynamic, by_dynamic)
WEFT_PARALLEL_LOOP(guided, by_guided)
WEFT_PARALLEL_LOOP(nonmonotonic_dynamic, by_dynamic)
WEFT_PARALLEL_LOOP(nonmonotonic_guided, by_guided)

#define WEFT_PARALLEL_RUNTIME_LOOP(name)                                                                     \
    void GOMP_parallel_loop_##name(void (*code)(void*), void* data, unsigned threads, long start_,           \
                                   long end_, long step, unsigned flags) {                                   \
        region& me = current_region();                                                                       \
        share_request r{.loop = shape_of(start_, end_, step, 0, schedule_kind::by_static)};                  \
        use_runtime_schedule(me, r.loop);                                                                    \
        begin_parallel(team_size(me, threads), code, data, &r, static_cast<int>(flags & 7), nullptr,         \
                       WEFT_CALLER);                                                                         \
        code(data);                                                                                          \
        end_parallel(WEFT_CALLER);                                                                           \
    }

WEFT_PARALLEL_RUNTIME_LOOP(runtime)
WEFT_PARALLEL_RUNTIME_LOOP(nonmonotonic_runtime)
WEFT_PARALLEL_RUNTIME_LOOP(maybe_nonmonotonic_runtime)

// The same of compilers before gcc 4.9, which call the code themselves, and then GOMP_parallel_end().
#define WEFT_OLD_PARALLEL_LOOP(name, kind)                                                                   \
    void GOMP_parallel_loop_##name##_start(void (*code)(void*), void* data, unsigned threads, long start_,   \
                                           long end_, long step, long chunk) {                               \
        const share_request r{.loop = shape_of(start_, end_, step, chunk, schedule_kind::kind)};             \
        begin_parallel(team_size(current_region(), threads), code, data, &r, 0, nullptr, WEFT_CALLER);       \
    }

WEFT_OLD_PARALLEL_LOOP(static, by_static)
WEFT_OLD_PARALLEL_LOOP(dynamic, by_dynamic)
WEFT_OLD_PARALLEL_LOOP(guided, by_guided)

void GOMP_parallel_loop_runtime_start(void (*code)(void*), void* data, unsigned threads, long start_,
                                      long end_, long step) {
    region& me = current_region();
    share_request r{.loop = shape_of(start_, end_, step, 0, schedule_kind::by_static)};
    use_runtime_schedule(me, r.loop);
    begin_parallel(team_size(me, threads), code, data, &r, 0, nullptr, WEFT_CALLER);
}

} // extern "C"
