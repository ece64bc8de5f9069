#pragma once

#include <weft/impl/entry.hpp>
#include <weft/join.hpp>
#include <weft/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::impl {

/// A scan over blocks whose prefixes and totals are combined in one order only:
///   total(b)      = ((identity . x0) . x1)... of block b
///   prefix(0)     = identity, prefix(b + 1) = prefix(b) . total(b)
///   out in b      = ((prefix(b) . x0) . x1)...
/// A worker that comes to a block in order knows its prefix, and computes all three in one pass. A worker
/// that got the right half of a range while the left one was still running computes only the totals; the
/// elements get their values afterwards.
template <class I, class Out, class T, class Op>
class scan_blocks {
public:
    scan_blocks(I first, std::ptrdiff_t n, Out out, const T& identity, Op& op, const loop_options& o)
        : first_(first)
        , out_(out)
        , n_(n)
        , identity_(identity)
        , op_(op)
        , length_(o.grain > 0 ? std::min(grain_of(o), n) : length_for(n))
        , blocks_((n + length_ - 1) / length_)
        , inner_{.name = o.name} {}

    void run() {
        if (blocks_ == 1) return sweep(0);
        prefixes_.resize(static_cast<std::size_t>(blocks_));
        totals_.resize(static_cast<std::size_t>(blocks_));
        on_worker(inner_, [this] {
            const loop_shape shape = shape_of_loop();
            constexpr std::ptrdiff_t pieces_a_worker = 16;
            // Blocks per piece. In the reported zone the tree must not depend on times.
            // The remembered cost is that of an element: blocks of another scan may be longer.
            static constinit iteration_cost of_element{0};
            const auto length = static_cast<std::uint64_t>(length_);
            iteration_cost cost{of_element.load(std::memory_order_relaxed) * length};
            const loop_hints hints(inner_);
            learnt_grain grain(
                shape.fixed ? std::max<std::ptrdiff_t>(1, blocks_ / (pieces_a_worker * shape.workers)) : 0,
                blocks_, cost, hints);
            in_order(0, blocks_, grain);
            of_element.store(cost.load(std::memory_order_relaxed) / length, std::memory_order_relaxed);
        });
    }

private:
    static constexpr bool reads_back =
        !std::is_trivially_copyable_v<T> && std::is_same_v<std::iter_reference_t<Out>, T&>;

    /// The most blocks, and the fewest elements of a block as long as that leaves some blocks for each
    /// worker: a call of `op` may take long.
    static std::ptrdiff_t length_for(std::ptrdiff_t n) noexcept {
        constexpr std::ptrdiff_t most = 1024, shortest = 16;
        return std::max({(n + most - 1) / most, std::min(shortest, n / 16), std::ptrdiff_t{1}});
    }

    std::ptrdiff_t from(std::ptrdiff_t b) const noexcept { return b * length_; }
    std::ptrdiff_t to(std::ptrdiff_t b) const noexcept { return std::min(n_, (b + 1) * length_); }
    const T& prefix(std::ptrdiff_t b) const {
        return b == 0 ? identity_ : *prefixes_[static_cast<std::size_t>(b)];
    }
    void set_prefix(std::ptrdiff_t b, const T& total) {
        if (b < blocks_)
            prefixes_[static_cast<std::size_t>(b)].emplace(std::invoke(op_, prefix(b - 1), total));
    }

    /// Blocks [begin, end). The prefix of `begin` is known; afterwards the prefix of `end` is known.
    void in_order(std::ptrdiff_t begin, std::ptrdiff_t end, learnt_grain& grain) {
        while (end - begin <= grain.get()) {
            begin = grain.run(begin, end, [this](std::ptrdiff_t from_block, std::ptrdiff_t to_block) {
                for (std::ptrdiff_t b = from_block; b < to_block; ++b) {
                    if (b + 1 < blocks_)
                        set_prefix(b + 1, sweep_and_fold(b));
                    else
                        sweep(b);
                }
            });
            if (begin == end) return;
        }
        const std::ptrdiff_t mid = begin + (end - begin) / 2;
        std::atomic<bool> left_done{false}; // released with the prefix of mid
        bool folded = false;                // by the second closure, read after both
        join_hinted(
            grain.hints(),
            [&] {
                in_order(begin, mid, grain);
                left_done.store(true, std::memory_order_release);
            },
            [&] {
                if (left_done.load(std::memory_order_acquire)) return in_order(mid, end, grain);
                parallel_for(
                    mid, end,
                    [this](std::ptrdiff_t b) {
                        if (b + 1 < blocks_) totals_[static_cast<std::size_t>(b)].emplace(fold(b));
                    },
                    inner_);
                folded = true;
            });
        if (!folded) return;
        for (std::ptrdiff_t b = mid; b < end; ++b)
            if (b + 1 < blocks_) set_prefix(b + 1, *totals_[static_cast<std::size_t>(b)]);
        parallel_for(mid, end, [this](std::ptrdiff_t b) { sweep(b); }, inner_);
    }

    void put(std::ptrdiff_t i, const T& sum) const {
        using value = std::iter_value_t<Out>;
        if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<value>)
            out_[i] = static_cast<value>(sum); // even if that narrows, like std::inclusive_scan
        else
            out_[i] = sum;
    }

    T fold(std::ptrdiff_t b) const {
        std::ptrdiff_t i = from(b);
        T total = std::invoke(op_, identity_, std::as_const(first_[i]));
        while (++i < to(b)) total = std::invoke(op_, std::move(total), std::as_const(first_[i]));
        return total;
    }

    void sweep(std::ptrdiff_t b) const {
        std::ptrdiff_t i = from(b);
        if constexpr (reads_back) {
            out_[i] = std::invoke(op_, prefix(b), std::as_const(first_[i]));
            while (++i < to(b))
                out_[i] = std::invoke(op_, std::as_const(out_[i - 1]), std::as_const(first_[i]));
        } else {
            T sum = std::invoke(op_, prefix(b), std::as_const(first_[i]));
            put(i, sum);
            while (++i < to(b)) {
                sum = std::invoke(op_, std::move(sum), std::as_const(first_[i]));
                put(i, sum);
            }
        }
    }

    /// Both in one pass; each element is read before its place is written.
    T sweep_and_fold(std::ptrdiff_t b) const {
        std::ptrdiff_t i = from(b);
        T total = std::invoke(op_, identity_, std::as_const(first_[i]));
        if constexpr (reads_back) {
            out_[i] = std::invoke(op_, prefix(b), std::as_const(first_[i]));
            while (++i < to(b)) {
                total = std::invoke(op_, std::move(total), std::as_const(first_[i]));
                out_[i] = std::invoke(op_, std::as_const(out_[i - 1]), std::as_const(first_[i]));
            }
        } else {
            T sum = std::invoke(op_, prefix(b), std::as_const(first_[i]));
            put(i, sum);
            while (++i < to(b)) {
                total = std::invoke(op_, std::move(total), std::as_const(first_[i]));
                sum = std::invoke(op_, std::move(sum), std::as_const(first_[i]));
                put(i, sum);
            }
        }
        return total;
    }

    const I first_;
    const Out out_;
    const std::ptrdiff_t n_;
    const T& identity_;
    Op& op_;
    const std::ptrdiff_t length_, blocks_;
    const loop_options inner_; ///< of the loops that it consists of: they have the scan's name
    std::vector<std::optional<T>> prefixes_, totals_; ///< of each block; each written by one thread
};

} // namespace weft::impl
