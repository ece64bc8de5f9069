#include "runtime/work_share.hpp"

#include "runtime/reductions.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace weft::openmp {

namespace {

__extension__ using wide = unsigned __int128;

void clear(work_share& s) noexcept {
    if (s.doacross) free_doacross(s.doacross);
    std::free(s.memory);
    s.~work_share();
    ::new (&s) work_share;
}

work_share& take_spare(seat& s) {
    if (work_share* const w = s.spare_share) {
        s.spare_share = nullptr;
        return *w;
    }
    return *new work_share;
}

/// All threads have gone on from it.
void keep_spare(seat& s, work_share& w) noexcept {
    if (w.is_first) return;
    clear(w);
    if (s.spare_share)
        delete &w;
    else
        s.spare_share = &w;
}

/// Chunks are handed out by an addition as long as the sum cannot exceed 2^64 when every thread adds once too often.
bool may_overflow(const loop_shape& l, std::uint64_t chunk, int threads) noexcept {
    const auto most =
        static_cast<wide>(l.count) + static_cast<wide>(chunk) * static_cast<unsigned>(threads + 1);
    return most > ~std::uint64_t{0};
}

bool take_dynamic(work_share& w, int threads, std::uint64_t& begin, std::uint64_t& end) noexcept {
    const std::uint64_t n = w.loop.count, chunk = std::max<std::uint64_t>(w.loop.chunk, 1);
    std::uint64_t at = w.taken.load(std::memory_order_relaxed);
    if (at >= n) return false;
    if (!may_overflow(w.loop, chunk, threads)) {
        at = w.taken.fetch_add(chunk, std::memory_order_relaxed);
        if (at >= n) return false;
    } else {
        do {
            if (at >= n) return false;
        } while (
            !w.taken.compare_exchange_weak(at, n - at < chunk ? n : at + chunk, std::memory_order_relaxed));
    }
    begin = at;
    end = n - at < chunk ? n : at + chunk;
    return true;
}

bool take_guided(work_share& w, int threads, std::uint64_t& begin, std::uint64_t& end) noexcept {
    const std::uint64_t n = w.loop.count, least = std::max<std::uint64_t>(w.loop.chunk, 1);
    const auto of = static_cast<std::uint64_t>(threads);
    std::uint64_t at = w.taken.load(std::memory_order_relaxed), size = 0;
    do {
        if (at >= n) return false;
        const std::uint64_t left = n - at;
        size = std::max(left / of + (left % of != 0), least);
        size = std::min(left, size + (w.loop.multiple - size % w.loop.multiple) % w.loop.multiple);
    } while (!w.taken.compare_exchange_weak(at, at + size, std::memory_order_relaxed));
    begin = at;
    end = at + size;
    return true;
}

/// Chunks that become smaller by the same number each time, from half a thread's share to the chunk that was given (Tzen and Ni,
/// Trapezoid self-scheduling, 1993). `taken` counts the chunks.
bool take_trapezoid(work_share& w, int threads, std::uint64_t& begin, std::uint64_t& end) noexcept {
    const std::uint64_t n = w.loop.count, of = static_cast<std::uint64_t>(threads);
    const std::uint64_t first = std::max<std::uint64_t>(n / (2 * of), 1),
                        last = std::min(std::max<std::uint64_t>(w.loop.chunk, 1), first);
    const std::uint64_t chunks =
        std::max<std::uint64_t>(static_cast<std::uint64_t>((2 * static_cast<wide>(n) + first + last - 1) /
                                                           (static_cast<wide>(first) + last)),
                                2);
    const std::uint64_t less = (first - last) / (chunks - 1);
    const std::uint64_t which = w.taken.fetch_add(1, std::memory_order_relaxed);
    // From chunk `falling` + 1 on they have the last size. Without a step all have the first one.
    const wide falling = less ? wide{(first - last) / less} : ~wide{0} - 1;
    const wide size = which <= falling ? wide{first} - wide{which} * less : wide{last};
    const wide larger = std::min<wide>(which, falling + 1);
    const wide before = larger * first - (larger ? wide{less} * (larger * (larger - 1) / 2) : 0) +
                        (wide{which} - larger) * last;
    if (before >= n) return false;
    begin = static_cast<std::uint64_t>(before);
    end = static_cast<std::uint64_t>(std::min<wide>(n, before + size));
    return true;
}

/// Blocks of equal size (the first ones have one more), or chunks in turn.
bool take_static(const work_share& w, const seat& s, int threads, std::uint64_t trip, std::uint64_t& begin,
                 std::uint64_t& end) noexcept {
    const std::uint64_t n = w.loop.count, of = static_cast<std::uint64_t>(threads),
                        me = static_cast<std::uint64_t>(s.number);
    if (w.loop.chunk == 0) {
        if (trip > 0) return false;
        const std::uint64_t each = n / of, more = n % of;
        begin = me * each + std::min(me, more);
        end = begin + each + (me < more);
        return begin < end;
    }
    const auto from = (static_cast<wide>(trip) * of + me) * w.loop.chunk;
    if (from >= n) return false;
    begin = static_cast<std::uint64_t>(from);
    end = n - begin < w.loop.chunk ? n : begin + w.loop.chunk;
    return true;
}

} // namespace

void prepare(work_share& w, const share_request& r, int threads) {
    w.loop = r.loop;
    w.is_ordered = r.is_ordered;
    w.is_sections = r.is_sections;
    w.reductions = r.reductions;
    if (r.memory) {
        w.memory = std::calloc(1, r.memory);
        if (!w.memory) throw std::bad_alloc();
    }
    if (r.doacross_loops) w.doacross = make_doacross(r, threads);
}

bool enter_share(region& me, const share_request& r) {
    seat& s = *me.on;
    work_share& last = *s.share;
    work_share* next = last.next.load(std::memory_order_acquire); // pairs with the exchange below
    bool is_mine = false;
    if (!next) {
        work_share& made = take_spare(s);
        prepare(made, r, me.in->size);
        if (r.reductions) register_reductions(r.reductions, nullptr, me.in->size, me.group->reductions);
        // release: what the link says; acquire: the same of the thread that came first
        is_mine = last.next.compare_exchange_strong(next, &made, std::memory_order_acq_rel,
                                                    std::memory_order_acquire);
        if (is_mine) {
            next = &made;
        } else {
            if (r.reductions) discard_reductions(r.reductions);
            clear(made);
            s.spare_share = &made;
        }
    }
    if (r.reductions && !is_mine)
        register_reductions(r.reductions, next->reductions, me.in->size, me.group->reductions);
    s.share = next;
    s.at = {};
    // acq_rel: the last thread frees what the others have used
    if (last.passed.fetch_add(1, std::memory_order_acq_rel) + 1 == me.in->size) keep_spare(s, last);
    return is_mine;
}

bool next_chunk(region& me, std::uint64_t& begin, std::uint64_t& end) {
    seat& s = *me.on;
    work_share& w = *s.share;
    const int threads = me.in->size;
    if (w.is_ordered && s.at.has_chunk) pass_turn(s, w);
    bool has = false;
    switch (w.loop.how) {
    case schedule_kind::by_dynamic: has = take_dynamic(w, threads, begin, end); break;
    case schedule_kind::by_guided: has = take_guided(w, threads, begin, end); break;
    case schedule_kind::by_trapezoid: has = take_trapezoid(w, threads, begin, end); break;
    case schedule_kind::by_static:
    case schedule_kind::by_auto: has = take_static(w, s, threads, s.at.trip, begin, end); break;
    }
    ++s.at.trip;
    s.at.has_chunk = has;
    if (!has) return false;
    s.at.begin = begin;
    s.at.end = end;
    return true;
}

void free_shares(team& t) noexcept {
    // The links that some thread has not left: those from the one at which the last thread is. All threads have ended.
    const auto next = [](const work_share* w) { return w->next.load(std::memory_order_relaxed); };
    work_share* oldest = nullptr;
    int longest = 0;
    for (int i = 0; i < t.size; ++i) {
        work_share* const at = t.seats[static_cast<std::size_t>(i)].share;
        if (at == oldest) continue;
        int length = 0;
        for (const work_share* w = at; w; w = next(w)) ++length;
        if (length > longest) oldest = at;
        longest = std::max(longest, length);
    }
    while (oldest) {
        work_share* const w = oldest;
        oldest = next(w);
        if (w->is_first) continue;
        clear(*w);
        delete w;
    }
    clear(t.first_share);
    t.first_share.is_first = true;
    for (int i = 0; i < t.size; ++i) t.seats[static_cast<std::size_t>(i)].share = &t.first_share;
}

} // namespace weft::openmp
