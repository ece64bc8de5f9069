#pragma once

#include <weft/impl/entry.hpp>
#include <weft/impl/in_order.hpp>
#include <weft/parallel.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace weft::impl {

/// Memory for n objects, without objects. Throws std::bad_alloc.
template <class T>
class raw_memory {
public:
    explicit raw_memory(std::size_t n) : n_(n), at_(std::allocator<T>().allocate(n)) {}
    ~raw_memory() { std::allocator<T>().deallocate(at_, n_); }
    raw_memory(const raw_memory&) = delete;
    raw_memory& operator=(const raw_memory&) = delete;

    T* data() const noexcept { return at_; }

private:
    std::size_t n_;
    T* at_;
};

/// How a sort is cut. The cuts depend on the length alone, so that equal elements are in the same order for
/// every number of workers.
struct sort_cuts {
    static constexpr std::ptrdiff_t max_buckets = 256; ///< an id is one byte
    static constexpr std::ptrdiff_t max_blocks = 128;
    static constexpr std::ptrdiff_t samples_a_bucket = 16; ///< spread of the buckets' sizes: a quarter

    std::ptrdiff_t buckets, samples, block, blocks;

    sort_cuts(std::ptrdiff_t n, std::ptrdiff_t bucket_length, std::ptrdiff_t wanted) noexcept
        : buckets(static_cast<std::ptrdiff_t>(std::bit_floor(static_cast<std::size_t>(
              std::clamp(n / bucket_length, std::ptrdiff_t{2}, std::min(wanted, max_buckets))))))
        , samples(std::min(n, buckets * samples_a_bucket))
        , block(std::max(bucket_length, (n + max_blocks - 1) / max_blocks))
        , blocks((n + block - 1) / block) {}
};

/// Sample sort: splitters out of a sorted sample cut the order into buckets; blocks of the range are
/// classified, then moved bucket by bucket into a buffer, and each bucket is sorted on its way back. Two
/// moves per element, for every number of workers. If a splitter occurs several times in the sample, elements
/// equal to it get a bucket of their own, which needs no sorting. Classification without branches after
/// Sanders and Winkel 2004, buckets of equals after Axtmann, Witt, Ferizovic and Sanders 2017.
///
/// `Elements` is the range and its order:
///   slot                     the form of an element in the buffer
///   look                     the form of an element for a comparison, cheap to copy
///   splitter                 the form of an element of the sample
///   bucket_length            the length at which sorting a bucket is quicker than cutting it
///   look_at(i), splitter_of(i), look_of(splitter)
///   before(splitter, look), after(splitter, look)    may throw
///   is_before(i, j)                                  likewise
///   sort_sample(std::vector<splitter>&)              likewise
///   take(i, slot*) noexcept                          moves element i to the slot
///   put_back(slot* first, slot* last, at) noexcept   moves slots to elements at, at + 1...
///   finish(slot* first, slot* last, at)              the same, sorted; throws only after all are back
///
/// No element is ever lost: the step that finds the buckets compares and moves nothing, the step that moves
/// elements to the buffer compares nothing, and every bucket comes back.
template <class Elements>
class sample_sort {
    using slot = typename Elements::slot;
    using splitter = typename Elements::splitter;
    using id = std::uint8_t;

public:
    sample_sort(Elements& elements, std::ptrdiff_t n, std::ptrdiff_t buckets = sort_cuts::max_buckets)
        : elements_(elements)
        , n_(n)
        , cuts_(n, Elements::bucket_length, buckets) {}

    void run() {
        if (!choose_splitters()) return;
        const raw_memory<slot> slots(static_cast<std::size_t>(n_));
        slots_ = slots.data();
        ids_ = std::make_unique_for_overwrite<id[]>(static_cast<std::size_t>(n_));
        counts_.resize(static_cast<std::size_t>(cuts_.blocks * ids()));
        done_.resize(static_cast<std::size_t>(std::max(cuts_.blocks, ids())));

        parallel_for(std::ptrdiff_t{0}, cuts_.blocks, [this](std::ptrdiff_t b) { classify(b); }, loop());
        place();
        each_surely(cuts_.blocks, [this](std::ptrdiff_t b) { scatter(b); });
        each_surely(ids(), [this](std::ptrdiff_t bucket) { finish(bucket); });
        if (error_) std::rethrow_exception(std::move(error_));
    }

private:
    std::ptrdiff_t ids() const noexcept { return equals_ ? 2 * buckets_ - 1 : buckets_; }
    std::ptrdiff_t* counts_of(std::ptrdiff_t b) noexcept { return counts_.data() + b * ids(); }
    loop_options loop() const noexcept { return {.bytes = 2 * static_cast<std::size_t>(n_) * sizeof(slot)}; }
    std::ptrdiff_t from(std::ptrdiff_t b) const noexcept { return b * cuts_.block; }
    std::ptrdiff_t to(std::ptrdiff_t b) const noexcept { return std::min(n_, (b + 1) * cuts_.block); }

    /// False if the range is already sorted.
    bool choose_splitters() {
        std::vector<splitter> sample;
        sample.reserve(static_cast<std::size_t>(cuts_.samples));
        const std::ptrdiff_t part = n_ / cuts_.samples; // one out of each, so a sorted range is noticed here
        std::uint64_t dice = 0x9e37'79b9'7f4a'7c15U;
        bool ordered = true;
        for (std::ptrdiff_t i = 0; i < cuts_.samples; ++i) {
            dice = dice * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U; // Knuth's generator
            const std::ptrdiff_t at =
                part * i + static_cast<std::ptrdiff_t>((dice >> 33U) % static_cast<std::uint64_t>(part));
            ordered = ordered && (sample.empty() || !elements_.after(sample.back(), elements_.look_at(at)));
            sample.push_back(elements_.splitter_of(at));
        }
        const auto is_before = [this](std::ptrdiff_t i, std::ptrdiff_t j) {
            return elements_.is_before(i, j);
        };
        if (ordered && is_in_order(n_, loop(), is_before)) return false;
        elements_.sort_sample(sample);

        buckets_ = cuts_.buckets;
        pick(sample);
        if (splitters_.size() + 1 < static_cast<std::size_t>(buckets_)) {
            equals_ = true;
            buckets_ = std::max<std::ptrdiff_t>(2, buckets_ / 2);
            pick(sample);
        }
        // The last one repeated fills the tree: nothing comes between it and itself.
        while (splitters_.size() + 1 < static_cast<std::size_t>(buckets_))
            splitters_.push_back(splitter(splitters_.back()));
        tree_.assign(static_cast<std::size_t>(buckets_), splitters_.front());
        plant(1, 0, buckets_ - 1);
        return true;
    }

    /// buckets_ - 1 splitters out of the sorted sample, equal ones once.
    void pick(const std::vector<splitter>& sample) {
        splitters_.clear();
        for (std::ptrdiff_t i = 1; i < buckets_; ++i) {
            const splitter& next = sample[static_cast<std::size_t>(cuts_.samples * i / buckets_)];
            if (splitters_.empty() || elements_.before(splitters_.back(), elements_.look_of(next)))
                splitters_.push_back(next);
        }
    }

    /// The sorted splitters [low, high) as a binary tree: node j has its children at 2j and 2j + 1.
    void plant(std::ptrdiff_t node, std::ptrdiff_t low, std::ptrdiff_t high) {
        if (low == high) return;
        const std::ptrdiff_t mid = low + (high - low) / 2;
        tree_[static_cast<std::size_t>(node)] = splitters_[static_cast<std::size_t>(mid)];
        plant(2 * node, low, mid);
        plant(2 * node + 1, mid + 1, high);
    }

    void classify(std::ptrdiff_t b) {
        if (equals_)
            classify_into<true>(b);
        else
            classify_into<false>(b);
    }
    template <bool Equals>
    void classify_into(std::ptrdiff_t b) {
        constexpr std::ptrdiff_t abreast = 8; // hides the latency of a step down the tree
        std::ptrdiff_t* const counts = counts_of(b);
        const std::ptrdiff_t begin = from(b), end = to(b), evenly = end - (end - begin) % abreast;
        const Elements elements = elements_; // copies, and pointers: the stores below might alias members
        const splitter *const tree = tree_.data(), *const splitters = splitters_.data();
        id* const ids = ids_.get();
        const auto buckets = static_cast<std::size_t>(buckets_);

        const auto classify_some = [&]<int... K>(std::ptrdiff_t i, std::integer_sequence<int, K...>) {
            const typename Elements::look x[] = {elements.look_at(i + K)...};
            std::size_t at[] = {(static_cast<void>(K), std::size_t{1})...};
            while (at[0] < buckets)
                ((at[K] = 2 * at[K] + static_cast<std::size_t>(elements.before(tree[at[K]], x[K]))), ...);
            ((at[K] -= buckets), ...);
            if constexpr (Equals) {
                const auto equal = [&](std::size_t bucket, const typename Elements::look& y) {
                    return bucket + 1 < buckets && !elements.after(splitters[bucket], y);
                };
                ((at[K] = 2 * at[K] + static_cast<std::size_t>(equal(at[K], x[K]))), ...);
            }
            ((ids[i + K] = static_cast<id>(at[K])), ...);
            (++counts[at[K]], ...);
        };
        for (std::ptrdiff_t i = begin; i < evenly; i += abreast)
            classify_some(i, std::make_integer_sequence<int, abreast>{});
        for (std::ptrdiff_t i = evenly; i < end; ++i) classify_some(i, std::make_integer_sequence<int, 1>{});
    }

    /// Counts become places in the buffer: bucket by bucket, and block by block in each bucket.
    void place() {
        starts_.resize(static_cast<std::size_t>(ids()) + 1);
        std::ptrdiff_t at = 0;
        for (std::ptrdiff_t bucket = 0; bucket < ids(); ++bucket) {
            starts_[static_cast<std::size_t>(bucket)] = at;
            for (std::ptrdiff_t b = 0; b < cuts_.blocks; ++b) at += std::exchange(counts_of(b)[bucket], at);
        }
        starts_.back() = at;
    }

    void scatter(std::ptrdiff_t b) noexcept {
        std::ptrdiff_t* const places = counts_of(b);
        const Elements elements = elements_;
        slot* const slots = slots_;
        const id* const ids = ids_.get();
        for (std::ptrdiff_t i = from(b), end = to(b); i < end; ++i)
            elements.take(i, slots + places[ids[i]]++);
    }

    void finish(std::ptrdiff_t bucket) noexcept {
        const std::ptrdiff_t at = starts_[static_cast<std::size_t>(bucket)];
        slot *const first = slots_ + at, *const last = slots_ + starts_[static_cast<std::size_t>(bucket) + 1];
        const bool equal = equals_ && bucket % 2 == 1;
        if (equal || last - first < 2 || failed_.load(std::memory_order_relaxed))
            return elements_.put_back(first, last, at);
        try {
            elements_.finish(first, last, at);
        } catch (...) { keep_error(); }
    }

    void keep_error() noexcept {
        if (failed_.exchange(true, std::memory_order_relaxed)) return count_suppressed();
        error_ = std::current_exception(); // read after the loop has ended
    }

    /// body(i) for each i in any case: iterations that the runtime could not start are done here. The body
    /// does not throw.
    template <class Body>
    void each_surely(std::ptrdiff_t count, Body&& body) noexcept {
        std::fill(done_.begin(), done_.end(), false);
        const auto once = [&](std::ptrdiff_t i) {
            body(i);
            done_[static_cast<std::size_t>(i)] = true;
        };
        try {
            parallel_for(std::ptrdiff_t{0}, count, once, loop());
        } catch (...) {
            for (std::ptrdiff_t i = 0; i < count; ++i)
                if (!done_[static_cast<std::size_t>(i)]) body(i);
            keep_error();
        }
    }

    Elements& elements_;
    const std::ptrdiff_t n_;
    const sort_cuts cuts_;
    std::ptrdiff_t buckets_ = 0; ///< a power of two; those of equals not counted
    bool equals_ = false;        ///< splitter i's equals have bucket 2 i + 1, those between splitters 2 i
    std::vector<splitter> splitters_, tree_;
    slot* slots_ = nullptr;
    std::unique_ptr<id[]> ids_;          ///< of each element
    std::vector<std::ptrdiff_t> counts_; ///< of each block, of each bucket; then the next place
    std::vector<std::ptrdiff_t> starts_; ///< of each bucket, and the end
    std::vector<char> done_;
    std::atomic<bool> failed_{false};
    std::exception_ptr error_; ///< written by the thread that set failed_
};

} // namespace weft::impl
