#include "gomp/loops.hpp"

/// GOMP_loop_ull_*: loops whose variable is an `unsigned long long`.
using namespace weft::openmp;
using namespace weft::openmp::gomp;
using ull = unsigned long long;

extern "C" {

#define WEFT_LOOP(name, kind, ordered)                                                                       \
    bool GOMP_loop_ull_##name##_start(bool up, ull start_, ull end_, ull step, ull chunk, ull* istart,       \
                                      ull* iend) {                                                           \
        return start({.loop = shape_of_unsigned(up, start_, end_, step, chunk, schedule_kind::kind),         \
                      .is_ordered = ordered},                                                                \
                     istart, iend);                                                                          \
    }                                                                                                        \
    bool GOMP_loop_ull_##name##_next(ull* istart, ull* iend) { return next(istart, iend); }

WEFT_LOOP(static, by_static, false)
WEFT_LOOP(dynamic, by_dynamic, false)
WEFT_LOOP(guided, by_guided, false)
WEFT_LOOP(nonmonotonic_dynamic, by_dynamic, false)
WEFT_LOOP(nonmonotonic_guided, by_guided, false)
WEFT_LOOP(ordered_static, by_static, true)
WEFT_LOOP(ordered_dynamic, by_dynamic, true)
WEFT_LOOP(ordered_guided, by_guided, true)

#define WEFT_RUNTIME_LOOP(name, ordered)                                                                     \
    bool GOMP_loop_ull_##name##_start(bool up, ull start_, ull end_, ull step, ull* istart, ull* iend) {     \
        share_request r{.loop = shape_of_unsigned(up, start_, end_, step, 0, schedule_kind::by_static),      \
                        .is_ordered = ordered};                                                              \
        use_runtime_schedule(current_region(), r.loop);                                                      \
        return start(r, istart, iend);                                                                       \
    }                                                                                                        \
    bool GOMP_loop_ull_##name##_next(ull* istart, ull* iend) { return next(istart, iend); }

WEFT_RUNTIME_LOOP(runtime, false)
WEFT_RUNTIME_LOOP(nonmonotonic_runtime, false)
WEFT_RUNTIME_LOOP(maybe_nonmonotonic_runtime, false)
WEFT_RUNTIME_LOOP(ordered_runtime, true)

#define WEFT_GENERAL_LOOP(name, ordered)                                                                     \
    bool GOMP_##name(bool up, ull start_, ull end_, ull step, long how, ull chunk, ull* istart, ull* iend,   \
                     std::uintptr_t* reductions, void** memory) {                                            \
        share_request r{.loop = shape_of_unsigned(up, start_, end_, step, chunk, schedule_kind::by_static),  \
                        .is_ordered = ordered};                                                              \
        use_schedule(current_region(), how, r.loop);                                                         \
        return start_with(r, istart, iend, reductions, memory);                                              \
    }

WEFT_GENERAL_LOOP(loop_ull_start, false)
WEFT_GENERAL_LOOP(loop_ull_ordered_start, true)

#define WEFT_DOACROSS(name, kind)                                                                            \
    bool GOMP_loop_ull_doacross_##name##_start(unsigned loops, ull* counts, ull chunk, ull* istart,          \
                                               ull* iend) {                                                  \
        return start_doacross(loops, counts, shape_of_unsigned(true, 0, 0, 1, chunk, schedule_kind::kind),   \
                              istart, iend);                                                                 \
    }

WEFT_DOACROSS(static, by_static)
WEFT_DOACROSS(dynamic, by_dynamic)
WEFT_DOACROSS(guided, by_guided)

bool GOMP_loop_ull_doacross_runtime_start(unsigned loops, ull* counts, ull* istart, ull* iend) {
    loop_shape l;
    use_runtime_schedule(current_region(), l);
    return start_doacross(loops, counts, l, istart, iend);
}

bool GOMP_loop_ull_doacross_start(unsigned loops, ull* counts, long how, ull chunk, ull* istart, ull* iend,
                                  std::uintptr_t* reductions, void** memory) {
    loop_shape l = shape_of_unsigned(true, 0, 0, 1, chunk, schedule_kind::by_static);
    use_schedule(current_region(), how, l);
    return start_doacross(loops, counts, l, istart, iend, reductions, memory);
}

} // extern "C"
