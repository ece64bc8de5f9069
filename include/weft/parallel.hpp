#pragma once

#include <weft/concepts.hpp>
#include <weft/impl/entry.hpp>
#include <weft/join.hpp>
#include <weft/task_group.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#if !defined(__x86_64__)
#    include <chrono>
#endif

namespace weft {

/// Options of a loop. All are optional: without a grain, the loop measures its own body.
struct loop_options {
    std::size_t grain = 0; ///< most iterations of one piece; 0: the library chooses
    double work = 0;       ///< of the whole loop, in any unit (hints::work); 0: unknown
    std::size_t bytes = 0; ///< bytes touched by the whole loop; 0: unknown
    /// Of its tasks, in traces and profiles in place of the loop's line, and for policies their class (hints::name). Must
    /// outlive the runtime (a literal).
    std::string_view name{};
};

namespace impl {

/// Requires: first < last. Throws weft::error if that is more than PTRDIFF_MAX.
template <class I>
std::ptrdiff_t length(I first, I last) {
    if constexpr (std::is_integral_v<I>) {
        // Modulo 2^64, of which the difference of two numbers of 64 bits is less.
        const std::size_t n = static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
        if (n > PTRDIFF_MAX) [[unlikely]]
            refuse_length();
        return static_cast<std::ptrdiff_t>(n);
    } else {
        const auto n = last - first; // a view of numbers may have a wider type for it
        if constexpr (sizeof n > sizeof(std::ptrdiff_t)) {
            if (n > PTRDIFF_MAX) [[unlikely]]
                refuse_length();
        }
        return static_cast<std::ptrdiff_t>(n);
    }
}
/// A grain as a number of iterations. 0: none is given.
inline std::ptrdiff_t grain_of(const loop_options& o) noexcept {
    return static_cast<std::ptrdiff_t>(std::min<std::size_t>(o.grain, PTRDIFF_MAX));
}
/// The hints of the joins of a loop: its name, if it has one.
class loop_hints {
public:
    explicit loop_hints(const loop_options& o) {
        if (!o.name.empty()) named_.emplace(join_hints{{.name = o.name}, {.name = o.name}});
    }
    const join_hints* get() const noexcept { return named_ ? &*named_ : nullptr; }

private:
    std::optional<join_hints> named_{};
};

/// first + n.
template <class I>
I advanced(I first, std::ptrdiff_t n) {
    if constexpr (std::is_integral_v<I>)
        return static_cast<I>(static_cast<std::size_t>(first) + static_cast<std::size_t>(n));
    else
        return static_cast<I>(first + static_cast<std::iter_difference_t<I>>(n));
}

/// A clock for grains: about 8 ns per reading on x86. Its unit only has to be of the order of half a
/// nanosecond.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    using clock = std::chrono::steady_clock;
    return 2 * static_cast<std::uint64_t>(clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
#endif
}

/// A piece should take about this long, 3 to 6 microseconds: a thousand times the cost of a fork, and still
/// so short that the last pieces of a loop end together. If a loop has very many pieces, they may be
/// longer: a loop over memory loses 3 % if it starts a new piece every 5 microseconds.
inline constexpr std::uint64_t piece_ticks = 12'288;
inline constexpr std::ptrdiff_t many_pieces = 256, longer = 4;

/// The cost of an iteration in the last run of one loop of the program, in ticks / 256; 0: never measured.
/// With it a short loop is one piece from the start: handing half of it to another core would take longer
/// than running it.
using iteration_cost = std::atomic<std::uint64_t>;

/// The grain of one loop, learnt while it runs. Every worker that runs pieces writes it; relaxed, because a
/// stale value only costs a little time.
class learnt_grain {
public:
    /// `given`: the grain, or 0; `n`: number of iterations of the loop; `hints`: of its joins.
    learnt_grain(std::ptrdiff_t given, std::ptrdiff_t n, iteration_cost& cost,
                 const loop_hints& hints) noexcept
        : cost_(cost)
        , hints_(hints)
        , long_grain_(n / many_pieces)
        , learns_(given <= 0)
        , grain_(given > 0 ? given : for_cost(cost.load(std::memory_order_relaxed))) {}

    std::ptrdiff_t get() const noexcept { return grain_.load(std::memory_order_relaxed); }
    const join_hints* hints() const noexcept { return hints_.get(); }

    /// Runs `range(from, to)` and returns `to`, or the place where it stopped because the iterations take
    /// longer than expected: the rest is to be divided. It stops after a multiple of `step` iterations only.
    template <class Range>
    std::ptrdiff_t run(std::ptrdiff_t from, std::ptrdiff_t to, Range&& range, std::ptrdiff_t step = 1) {
        if (!learns_) return range(from, to), to;
        const std::uint64_t began = ticks();
        // Until a piece of this run was as long as expected, the piece runs in steps, each at most three
        // times as long as all before together. So little is left undivided because of a cost of an earlier
        // run.
        std::ptrdiff_t end = confirmed_.load(std::memory_order_relaxed) ? to : from + step;
        for (std::ptrdiff_t at = from;;
             at = end, end = (to - end - 1) / 3 >= end - from ? end + 3 * (end - from) : to) {
            range(at, end);
            const std::uint64_t took = ticks() - began;
            if (end == to || took > piece_ticks) {
                learn(end - from, took);
                return end;
            }
        }
    }

private:
    static constexpr std::uint64_t unit = 256;

    std::ptrdiff_t for_cost(std::uint64_t cost) const noexcept {
        if (cost == 0) return 1;
        const auto grain = static_cast<std::ptrdiff_t>(piece_ticks * unit / cost);
        return std::max({std::ptrdiff_t{1}, grain, std::min(longer * grain, long_grain_)});
    }
    void learn(std::ptrdiff_t iterations, std::uint64_t took) noexcept {
        const std::uint64_t cost =
            std::max<std::uint64_t>(1, took * unit / static_cast<std::uint64_t>(iterations));
        if (took > piece_ticks / 16) {
            cost_.store(cost, std::memory_order_relaxed);
            grain_.store(for_cost(cost), std::memory_order_relaxed);
            confirmed_.store(true, std::memory_order_relaxed);
            return;
        }
        // The measurement of so short a piece is too large, so it may only lower the cost of an iteration.
        const std::uint64_t before = cost_.load(std::memory_order_relaxed);
        if (before == 0 || cost < before) cost_.store(cost, std::memory_order_relaxed);
        const std::ptrdiff_t most = iterations < PTRDIFF_MAX / 16 ? 16 * iterations : PTRDIFF_MAX;
        if (const auto grain = std::min(for_cost(cost), most); grain > get())
            grain_.store(grain, std::memory_order_relaxed);
    }

    iteration_cost& cost_;
    const loop_hints& hints_;
    const std::ptrdiff_t long_grain_;
    const bool learns_;
    std::atomic<std::ptrdiff_t> grain_;
    std::atomic<bool> confirmed_{false};
};

/// Halves the range by lazy joins down to the grain. An idle worker gets the largest part that is left.
template <class I, class Range>
void loop_over(I first, std::ptrdiff_t from, std::ptrdiff_t to, learnt_grain& grain, Range& range) {
    std::ptrdiff_t n = to - from;
    while (n <= grain.get()) {
        from = grain.run(from, to, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
            range(advanced(first, begin), advanced(first, end));
        });
        n = to - from;
        if (n == 0) return;
    }
    const std::ptrdiff_t mid = from + n / 2;
    join_hinted(
        grain.hints(), [&] { loop_over(first, from, mid, grain, range); },
        [&] { loop_over(first, mid, to, grain, range); });
}

/// A loop whose tree of tasks depends only on the range, the grain and the number of workers. The same
/// program has the same tasks in every run, so what a policy learns about them stays valid.
template <class I, class Range>
struct fixed_loop {
    I first;
    std::ptrdiff_t n;
    const loop_options& options;
    Range& range;

    hints hints_of(std::ptrdiff_t iterations) const {
        const double part = static_cast<double>(iterations) / static_cast<double>(n);
        return {.work = options.work * part,
                .bytes = static_cast<std::size_t>(static_cast<double>(options.bytes) * part),
                .name = options.name};
    }
    void call(std::ptrdiff_t from, std::ptrdiff_t to) const {
        range(advanced(first, from), advanced(first, to));
    }
    /// n * i / count; the product may be too large.
    std::ptrdiff_t begin_of(std::ptrdiff_t i, std::ptrdiff_t count) const {
        return n / count * i + n % count * i / count;
    }
    void in_pieces(std::ptrdiff_t count) const {
        task_group pieces(hints_of(n));
        for (std::ptrdiff_t i = 0; i < count; ++i) {
            const std::ptrdiff_t from = begin_of(i, count), to = begin_of(i + 1, count);
            pieces.run([this, from, to] { call(from, to); }, hints_of(to - from));
        }
        pieces.wait();
    }
    void in_halves(std::ptrdiff_t from, std::ptrdiff_t to, std::ptrdiff_t grain) const {
        if (to - from <= grain) return call(from, to);
        const std::ptrdiff_t mid = from + (to - from) / 2;
        join([=, this] { in_halves(from, mid, grain); }, [=, this] { in_halves(mid, to, grain); },
             {hints_of(mid - from), hints_of(to - mid)});
    }
    void run(loop_shape shape) const {
        const std::ptrdiff_t grain = grain_of(options);
        if (shape.pieces > 0) {
            const std::ptrdiff_t by_grain = grain > 0 ? (n - 1) / grain + 1 : 1;
            return in_pieces(std::min(std::max<std::ptrdiff_t>(shape.pieces, by_grain), n));
        }
        constexpr std::ptrdiff_t pieces_a_worker = 16;
        in_halves(0, n,
                  grain > 0 ? grain : std::max<std::ptrdiff_t>(1, n / (pieces_a_worker * shape.workers)));
    }
};

/// Runs `f` on a worker: here, or in the default runtime if this thread is no worker.
template <class F>
void on_worker(const loop_options& o, F&& f) {
    if (hot_self()) return f();
    run_as_root(f, o.name);
}

} // namespace impl

/// The index of a loop: an integer, a random access iterator, or what can be counted like one.
template <class I>
concept LoopIndex = std::copyable<I> && !std::floating_point<I> && requires(I i, std::ptrdiff_t n) {
    { i < i } -> std::convertible_to<bool>;
    static_cast<std::ptrdiff_t>(i - i);
    static_cast<I>(i + n);
    ++i;
};

/// A range of a loop: a vector, a span, std::views::iota, a view that transforms one of these, ...
template <class R>
concept LoopRange = requires(R& r) {
    { std::ranges::begin(r) } -> std::random_access_iterator;
    std::ranges::size(r);
};

namespace impl {
template <class R>
using iterator_of = decltype(std::ranges::begin(std::declval<R&>()));
template <class R>
using element_of = std::iter_reference_t<iterator_of<R>>;
} // namespace impl

/// Calls `range(begin, end)` for pieces that together are [first, last), and returns when all have ended. `I`
/// is an integer or a random access iterator. Pieces may run at the same time, in any order. The first
/// exception is rethrown, and later pieces may then be skipped. In a thread that is no worker, the loop runs
/// in the default runtime. Throws weft::error for more than PTRDIFF_MAX iterations.
template <LoopIndex I, class Range>
    requires PieceBody<Range, I, I>
void parallel_for_range(I first, I last, Range&& range, const loop_options& o = {}) {
    if (!(first < last)) return;
    const std::ptrdiff_t n = impl::length(first, last);
    impl::on_worker(o, [&] {
        const impl::loop_shape shape = impl::shape_of_loop();
        if (shape.fixed)
            return impl::fixed_loop<I, std::remove_reference_t<Range>>{first, n, o, range}.run(shape);
        static constinit impl::iteration_cost cost{0}; // one for each loop in the program's source
        const impl::loop_hints hints(o);
        impl::learnt_grain grain(impl::grain_of(o), n, cost, hints);
        impl::loop_over(first, 0, n, grain, range);
    });
}

/// Calls `body(i)` for each i of [first, last), where i is an integer or an iterator. In all other respects
/// like parallel_for_range(). Source: Tzannes, Caragea, Barua, Vishkin 2010 (lazy binary splitting), here by
/// lazy joins.
template <LoopIndex I, class Body>
    requires LoopBody<Body, I&>
void parallel_for(I first, I last, Body&& body, const loop_options& o = {}) {
    parallel_for_range(
        first, last,
        [&body](I begin, I end) {
            for (I i = begin; i < end; ++i)
                body(i); // `<`: compilers do not vectorise an index that could wrap around
        },
        o);
}

/// Calls `range(begin, end)` with iterators of `r`, for pieces that together are `r`.
template <LoopRange R, class Range>
    requires PieceBody<Range, impl::iterator_of<R>, impl::iterator_of<R>>
void parallel_for_range(R&& r, Range&& range, const loop_options& o = {}) {
    const auto first = std::ranges::begin(r);
    parallel_for_range(
        first, first + static_cast<std::iter_difference_t<impl::iterator_of<R>>>(std::ranges::size(r)), range,
        o);
}

/// Calls `body(element)` for each element of `r`.
template <LoopRange R, class Body>
    requires LoopBody<Body, impl::element_of<R>>
void parallel_for(R&& r, Body&& body, const loop_options& o = {}) {
    parallel_for_range(
        r,
        [&body](impl::iterator_of<R> begin, impl::iterator_of<R> end) {
            for (auto i = begin; i < end; ++i) body(*i);
        },
        o);
}

/// Returns the pieces of [first, last), folded by `fold(begin, end, value)` and combined over a fixed tree: each piece
/// begins with `identity`, and the results of neighbours are combined. The shape of the tree depends only on the number
/// of iterations and the grain, so the result is the same for every number of workers, every policy and every run, even
/// if `combine` is not associative to the last bit. Without a grain there are at most 1024 pieces. Combining a value with
/// `identity` must not change the value. The first exception is rethrown.
template <LoopIndex I, class T, class Fold, class Combine>
    requires FoldingBody<Fold, T, I, I> && Combination<Combine, T>
T parallel_reduce_range(I first, I last, T identity, Fold&& fold, Combine&& combine,
                        const loop_options& o = {}) {
    if (!(first < last)) return identity;
    constexpr std::ptrdiff_t leaves = 1024;
    const std::ptrdiff_t n = impl::length(first, last);
    const std::ptrdiff_t grain = o.grain ? impl::grain_of(o) : (n - 1) / leaves + 1;
    struct reduction {
        I first;
        std::ptrdiff_t grain;
        const T& identity;
        Fold& fold;
        Combine& combine;
        impl::loop_hints hints;
        T over(std::ptrdiff_t from, std::ptrdiff_t to) {
            if (to - from <= grain)
                return fold(impl::advanced(first, from), impl::advanced(first, to), T(identity));
            const std::ptrdiff_t mid = from + (to - from) / 2;
            auto [left, right] = impl::join_hinted(
                hints.get(), [&] { return over(from, mid); }, [&] { return over(mid, to); });
            return combine(std::move(left), std::move(right));
        }
    } r{first, grain, identity, fold, combine, impl::loop_hints(o)};
    T result = identity;
    impl::on_worker(o, [&] { result = r.over(0, n); });
    return result;
}

/// Returns combine(...combine(identity, map(first))..., map(last - 1)), computed like parallel_reduce_range().
template <LoopIndex I, class T, class Map, class Combine>
    requires Mapping<Map, I> &&
             Combination<Combine, T, std::invoke_result_t<std::remove_reference_t<Map>&, I>> &&
             Combination<Combine, T>
T parallel_reduce(I first, I last, T identity, Map&& map, Combine&& combine, const loop_options& o = {}) {
    return parallel_reduce_range(
        first, last, std::move(identity),
        [&map, &combine](I begin, I end, T sum) {
            for (I i = begin; i < end; ++i) sum = combine(std::move(sum), map(static_cast<I>(i)));
            return sum;
        },
        combine, o);
}

/// The same for the elements of `r`: combine(...combine(identity, map(first element))..., map(last element)).
template <LoopRange R, class T, class Map, class Combine>
    requires Mapping<Map, impl::element_of<R>> &&
             Combination<Combine, T,
                         std::invoke_result_t<std::remove_reference_t<Map>&, impl::element_of<R>>> &&
             Combination<Combine, T>
T parallel_reduce(R&& r, T identity, Map&& map, Combine&& combine, const loop_options& o = {}) {
    const auto first = std::ranges::begin(r);
    const auto last = first + static_cast<std::iter_difference_t<impl::iterator_of<R>>>(std::ranges::size(r));
    return parallel_reduce_range(
        first, last, std::move(identity),
        [&map, &combine](impl::iterator_of<R> begin, impl::iterator_of<R> end, T sum) {
            for (auto i = begin; i < end; ++i) sum = combine(std::move(sum), map(*i));
            return sum;
        },
        combine, o);
}

/// @cond
template <LoopIndex I, LoopIndex J, class Body>
    requires(!std::same_as<I, J>)
impl::not_a::Range parallel_for(I, J, Body&&, const loop_options& = {})
    WEFT_REJECTED("Range: first and last have different types; write, for example, std::size_t{0}");
template <LoopIndex I, LoopIndex J, class Range>
    requires(!std::same_as<I, J>)
impl::not_a::Range parallel_for_range(I, J, Range&&, const loop_options& = {})
    WEFT_REJECTED("Range: first and last have different types; write, for example, std::size_t{0}");
template <LoopIndex I, LoopIndex J, class T, class Map, class Combine>
    requires(!std::same_as<I, J>)
impl::not_a::Range parallel_reduce(I, J, T, Map&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED("Range: first and last have different types; write, for example, std::size_t{0}");
template <LoopIndex I, class Body>
    requires(!LoopBody<Body, I&>)
impl::not_a::LoopBody parallel_for(I, I, Body&&, const loop_options& = {})
    WEFT_REJECTED("LoopBody: the body is called with an index or iterator");
template <LoopRange R, class Body>
    requires(!LoopBody<Body, impl::element_of<R>>)
impl::not_a::LoopBody parallel_for(R&&, Body&&, const loop_options& = {})
    WEFT_REJECTED("LoopBody: the body is called with an element of the range");
template <LoopIndex I, class Range>
    requires(!PieceBody<Range, I, I>)
impl::not_a::PieceBody parallel_for_range(I, I, Range&&, const loop_options& = {})
    WEFT_REJECTED("PieceBody: the body is called with the begin and the end of a piece");
template <LoopRange R, class Range>
    requires(!PieceBody<Range, impl::iterator_of<R>, impl::iterator_of<R>>)
impl::not_a::PieceBody parallel_for_range(R&&, Range&&, const loop_options& = {})
    WEFT_REJECTED("PieceBody: the body is called with iterators of the begin and the end of a piece");
template <LoopIndex I, class T, class Fold, class Combine>
    requires(!FoldingBody<Fold, T, I, I>)
impl::not_a::FoldingBody parallel_reduce_range(I, I, T, Fold&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED("FoldingBody: it is called with the begin and the end of a piece and a T, and returns a T");
template <LoopIndex I, class T, class Fold, class Combine>
    requires FoldingBody<Fold, T, I, I> && (!Combination<Combine, T>)
impl::not_a::Combination parallel_reduce_range(I, I, T, Fold&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED("Combination: combine is called with two T, and returns a T");
template <LoopIndex I, class T, class Map, class Combine>
    requires(!Mapping<Map, I>)
impl::not_a::Mapping parallel_reduce(I, I, T, Map&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED("Mapping: map is called with an index or iterator, and returns a value");
template <LoopRange R, class T, class Map, class Combine>
    requires(!Mapping<Map, impl::element_of<R>>)
impl::not_a::Mapping parallel_reduce(R&&, T, Map&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED("Mapping: map is called with an element of the range, and returns a value");
template <LoopIndex I, class T, class Map, class Combine>
    requires Mapping<Map, I> &&
             (!Combination<Combine, T, std::invoke_result_t<std::remove_reference_t<Map>&, I>> ||
              !Combination<Combine, T>)
impl::not_a::Combination parallel_reduce(I, I, T, Map&&, Combine&&, const loop_options& = {}) WEFT_REJECTED(
    "Combination: combine is called with a T and what map returns, and with two T, and returns a T");
template <LoopRange R, class T, class Map, class Combine>
    requires Mapping<Map, impl::element_of<R>> &&
             (!Combination<Combine, T,
                           std::invoke_result_t<std::remove_reference_t<Map>&, impl::element_of<R>>> ||
              !Combination<Combine, T>)
impl::not_a::Combination parallel_reduce(R&&, T, Map&&, Combine&&, const loop_options& = {}) WEFT_REJECTED(
    "Combination: combine is called with a T and what map returns, and with two T, and returns a T");
/// @endcond

} // namespace weft
