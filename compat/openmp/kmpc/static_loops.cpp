#include "kmpc/iterations.hpp"

#include <algorithm>

/// __kmpc_for_static_init_*: loops whose iterations are cut by arithmetic alone. The caller gets its first chunk and the distance to its
/// next one.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

/// What the compiled code passes and gets.
template <class T>
struct bounds {
    std::int32_t* is_last;
    T* lower;
    T* upper;
    std::make_signed_t<T>* stride;
    std::make_signed_t<T> step;
    std::make_signed_t<T> chunk;

    /// An empty chunk: the lower bound is one step behind the upper one, which compiled code looks at first.
    void give_none(T to) const noexcept {
        *lower = static_cast<T>(value_at(to, step, 1));
        *upper = to;
        if (stride) *stride = step;
        if (is_last) *is_last = 0;
        if (step > 0 ? *lower > to : *lower < to) return;
        *lower = to; // the end of the range of T: the value behind it does not exist
        *upper = value_at(to, step, ~std::uint64_t{0});
    }
    void give(T from, std::uint64_t n, part p, std::uint64_t distance, bool last) const noexcept {
        *lower = value_at(from, step, p.begin);
        *upper = value_at(from, step, std::min(p.end, n) - 1);
        if (stride) *stride = static_cast<std::make_signed_t<T>>(value_at(T{0}, step, distance));
        if (is_last) *is_last = last;
    }
    /// Chunk `which` of those in turn. Its upper bound may be beyond the loop's, as clang's code expects: it takes the smaller one.
    void give_chunk(T from, std::uint64_t n, std::uint64_t which, std::uint64_t of) const noexcept {
        const auto size = static_cast<std::uint64_t>(std::max<std::make_signed_t<T>>(chunk, 1));
        *lower = value_at(from, step, which * size);
        *upper = value_at(from, step, which * size + size - 1);
        if (stride) *stride = static_cast<std::make_signed_t<T>>(value_at(T{0}, step, size * of));
        if (is_last) *is_last = n > 0 && (n - 1) / size % of == which;
    }
};

/// Cuts the loop for one of `of` threads or teams.
template <class T>
void cut(const bounds<T>& b, bool in_chunks, std::uint64_t which, std::uint64_t of) noexcept {
    const T from = *b.lower, to = *b.upper;
    const std::uint64_t n = count_of(from, to, b.step);
    if (n == 0) { // as it stands: it has no iteration
        if (b.stride) *b.stride = b.step;
        if (b.is_last) *b.is_last = 0;
        return;
    }
    if (in_chunks) return b.give_chunk(from, n, which, of);
    const part p = block_of(n, of, which);
    if (p.begin == p.end) return b.give_none(to);
    b.give(from, n, p, n, p.end == n);
}

/// Blocks whose size is a multiple of the chunk (schedule(simd: static)).
template <class T>
void cut_balanced(const bounds<T>& b, std::uint64_t which, std::uint64_t of) noexcept {
    const T from = *b.lower, to = *b.upper;
    const std::uint64_t n = count_of(from, to, b.step);
    if (n == 0) return cut(b, false, which, of);
    const auto chunk = static_cast<std::uint64_t>(std::max<std::make_signed_t<T>>(b.chunk, 1));
    const std::uint64_t size = ((n + of - 1) / of + chunk - 1) / chunk * chunk;
    const part p{std::min(which * size, n), std::min(which * size + size, n)};
    if (p.begin == p.end) return b.give_none(to);
    b.give(from, n, p, n, p.end == n);
}

template <class T>
void cut_by(const location* at, std::int32_t given, const bounds<T>& b) noexcept {
    region& me = current_region();
    const auto thread = static_cast<std::uint64_t>(me.on->number),
               threads = static_cast<std::uint64_t>(me.in->size);
    const auto team = static_cast<std::uint64_t>(me.in->league_rank),
               teams = static_cast<std::uint64_t>(me.in->league_size);
    const schedule how = plain(given).how;
    if (tool::is_on() && how != distribute_chunked && how != distribute_blocks) [[unlikely]]
        tool::work_begins(me, at && (at->flags & is_of_sections) ? tool::work::sections : tool::work::loop,
                          count_of(*b.lower, *b.upper, b.step), nullptr);
    switch (how) {
    case static_chunked:
    case static_greedy: return cut(b, true, thread, threads);
    case static_balanced_chunked: return cut_balanced(b, thread, threads);
    case distribute_chunked: return cut(b, true, team, teams);
    case distribute_blocks: return cut(b, false, team, teams);
    default: return cut(b, false, thread, threads);
    }
}

/// distribute parallel for: a block for the team, whose end goes to `team_upper`, and in it the share of the thread.
template <class T>
void cut_twice(const location* at, std::int32_t given, const bounds<T>& b, T* team_upper) noexcept {
    const region& me = current_region();
    std::int32_t last_team = 0;
    bounds<T> of_team = b;
    of_team.is_last = &last_team;
    of_team.stride = nullptr;
    cut(of_team, false, static_cast<std::uint64_t>(me.in->league_rank),
        static_cast<std::uint64_t>(me.in->league_size));
    *team_upper = *b.upper;
    cut_by(at, given, b);
    if (b.is_last) *b.is_last = *b.is_last && last_team;
}

} // namespace

extern "C" {

void __kmpc_for_static_fini(location*, gtid) {
    if (tool::is_on()) [[unlikely]]
        tool::work_ends(current_region(), WEFT_CALLER);
}

#define WEFT_STATIC(suffix, T)                                                                               \
    void __kmpc_for_static_init_##suffix(location* at, gtid, std::int32_t how, std::int32_t* last, T* lower, \
                                         T* upper, std::make_signed_t<T>* stride,                            \
                                         std::make_signed_t<T> step, std::make_signed_t<T> chunk) {          \
        cut_by<T>(at, how, {last, lower, upper, stride, step, chunk});                                       \
    }                                                                                                        \
    void __kmpc_dist_for_static_init_##suffix(                                                               \
        location* at, gtid, std::int32_t how, std::int32_t* last, T* lower, T* upper, T* team_upper,         \
        std::make_signed_t<T>* stride, std::make_signed_t<T> step, std::make_signed_t<T> chunk) {            \
        cut_twice<T>(at, how, {last, lower, upper, stride, step, chunk}, team_upper);                        \
    }                                                                                                        \
    void __kmpc_team_static_init_##suffix(location* at, gtid, std::int32_t* last, T* lower, T* upper,        \
                                          std::make_signed_t<T>* stride, std::make_signed_t<T> step,         \
                                          std::make_signed_t<T> chunk) {                                     \
        cut_by<T>(at, distribute_chunked, {last, lower, upper, stride, step, chunk});                        \
    }

WEFT_STATIC(4, std::int32_t)
WEFT_STATIC(4u, std::uint32_t)
WEFT_STATIC(8, std::int64_t)
WEFT_STATIC(8u, std::uint64_t)

} // extern "C"
