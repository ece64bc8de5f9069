#include "kmpc/iterations.hpp"

#include <algorithm>

/// __kmpc_dispatch_*: loops whose chunks are handed out while they run, and sections.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

/// schedule(simd: runtime): chunks are multiples of the iterations that a vector takes.
void fit_to_vectors(std::uint64_t vector, int threads, loop_shape& l) noexcept {
    const bool has_blocks = l.how == schedule_kind::by_static || l.how == schedule_kind::by_auto;
    if (has_blocks && l.chunk == 0) {
        const auto of = static_cast<std::uint64_t>(threads);
        const std::uint64_t block = l.count / of + (l.count % of != 0);
        l.chunk = (block + vector - 1) / vector * vector;
        l.how = schedule_kind::by_static;
    } else {
        l.chunk = std::max<std::uint64_t>(l.chunk, 1) * vector;
    }
    l.multiple = l.chunk;
}

/// The schedule of the loop; the runtime's own if the program says so.
void use_schedule(const region& me, schedule how, std::uint64_t chunk, loop_shape& l) noexcept {
    l.chunk = std::max<std::uint64_t>(chunk, 1);
    switch (how) {
    case static_blocks:
    case static_balanced:
    case automatic:
        l.how = schedule_kind::by_static;
        l.chunk = 0;
        break;
    case static_chunked:
    case static_greedy:
    case static_balanced_chunked: l.how = schedule_kind::by_static; break;
    case trapezoidal: l.how = schedule_kind::by_trapezoid; break;
    case guided_chunked:
    case guided_iterative:
    case guided_analytical: l.how = schedule_kind::by_guided; break;
    case guided_simd:
        l.how = schedule_kind::by_guided;
        l.multiple = l.chunk;
        break;
    case runtime_chosen:
    case runtime_simd:
        l.how = me.icv.run_schedule.kind;
        l.chunk = static_cast<std::uint64_t>(me.icv.run_schedule.chunk);
        if (l.how == schedule_kind::by_auto) l.chunk = 0;
        if (how == runtime_simd) fit_to_vectors(std::max<std::uint64_t>(chunk, 1), me.in->size, l);
        break;
    default: l.how = schedule_kind::by_dynamic; break;
    }
}

template <class T>
void begin(std::int32_t given, T lower, T upper, std::make_signed_t<T> step, std::make_signed_t<T> chunk) {
    region& me = current_region();
    const schedule_name name = plain(given);
    loop_shape l{.count = count_of(lower, upper, step),
                 .first = static_cast<std::uint64_t>(lower),
                 .step = static_cast<std::uint64_t>(step),
                 .last = static_cast<std::uint64_t>(upper)};
    use_schedule(me, name.how, chunk > 0 ? static_cast<std::uint64_t>(chunk) : 1, l);
    static_cast<void>(enter_share(me, {.loop = l, .is_ordered = name.is_ordered}));
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(me, tool::work::loop, l.count, nullptr);
}

template <class T>
std::int32_t next(std::int32_t* last, T* lower, T* upper, std::make_signed_t<T>* step) {
    region& me = current_region();
    std::uint64_t from = 0, to = 0;
    if (!next_chunk(me, from, to)) {
        if (tool::is_on()) [[unlikely]]
            tool::work_ends(me, nullptr);
        return 0;
    }
    const loop_shape& l = me.on->share->loop;
    const auto by = static_cast<std::make_signed_t<T>>(l.step);
    *lower = value_at(static_cast<T>(l.first), by, from);
    *upper = value_at(static_cast<T>(l.first), by, to - 1);
    if (step) *step = by;
    if (last) *last = to == l.count;
    return 1;
}

/// The block of the team, out of a league.
template <class T>
void begin_in_team(std::int32_t given, std::int32_t* last, T lower, T upper, std::make_signed_t<T> step,
                   std::make_signed_t<T> chunk) {
    const team& t = *current_region().in;
    const std::uint64_t n = count_of(lower, upper, step);
    const part p =
        block_of(n, static_cast<std::uint64_t>(t.league_size), static_cast<std::uint64_t>(t.league_rank));
    if (last) *last = p.end == n && p.begin < p.end;
    if (p.begin == p.end)
        return begin<T>(given, static_cast<T>(step > 0), static_cast<T>(step < 0), step, chunk);
    begin<T>(given, value_at(lower, step, p.begin), value_at(lower, step, p.end - 1), step, chunk);
}

} // namespace

extern "C" {

// The turn of an ordered loop goes on with the chunk, not with the iteration.
void __kmpc_dispatch_deinit(location*, gtid) {}

#define WEFT_DISPATCH(suffix, T)                                                                             \
    void __kmpc_dispatch_init_##suffix(location*, gtid, std::int32_t how, T lower, T upper,                  \
                                       std::make_signed_t<T> step, std::make_signed_t<T> chunk) {            \
        begin<T>(how, lower, upper, step, chunk);                                                            \
    }                                                                                                        \
    void __kmpc_dist_dispatch_init_##suffix(location*, gtid, std::int32_t how, std::int32_t* last, T lower,  \
                                            T upper, std::make_signed_t<T> step,                             \
                                            std::make_signed_t<T> chunk) {                                   \
        begin_in_team<T>(how, last, lower, upper, step, chunk);                                              \
    }                                                                                                        \
    std::int32_t __kmpc_dispatch_next_##suffix(location*, gtid, std::int32_t* last, T* lower, T* upper,      \
                                               std::make_signed_t<T>* step) {                                \
        return next<T>(last, lower, upper, step);                                                            \
    }                                                                                                        \
    void __kmpc_dispatch_fini_##suffix(location*, gtid) {}

WEFT_DISPATCH(4, std::int32_t)
WEFT_DISPATCH(4u, std::uint32_t)
WEFT_DISPATCH(8, std::int64_t)
WEFT_DISPATCH(8u, std::uint64_t)

// Sections, numbered from 0. One more than the last one: there is none left.
std::int32_t __kmpc_sections_init(location*, gtid) {
    region& me = current_region();
    static_cast<void>(enter_share(me, {}));
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(me, tool::work::sections, 0, WEFT_CALLER);
    return 0;
}
std::int32_t __kmpc_next_section(location*, gtid, std::int32_t count) {
    const std::uint64_t mine = current_region().on->share->taken.fetch_add(1, std::memory_order_relaxed);
    return static_cast<std::int32_t>(std::min<std::uint64_t>(mine, static_cast<std::uint64_t>(count)));
}
void __kmpc_end_sections(location*, gtid) {
    if (tool::is_on()) [[unlikely]]
        tool::work_ends(current_region(), WEFT_CALLER);
}

} // extern "C"
