// A set of worker ids that every thread may change and search at any time: the workers that sleep, or search.
//
// One bit an id, 64 ids a word, so a range of neighbours (a domain of the machine) is searched a word at a
// time. Nothing allocates, locks or blocks after construction, so everything may be called in a signal
// handler.
//
//   word           | writer                                 | readers                          | order
//   words_[id/64]  | insert (or), erase, take_one_in (and)  | contains, any_in, for_each, ...  | seq_cst
//
// I1: a bit outside of the capacity is never set.
// I2: of several threads that erase or take one id, exactly one is told that it was in.
// I3: what was written before insert(id) is seen by the thread that is told that it erased or took id.
//
// Sleeping without losing a wake-up (store then load on both sides, Dekker's pattern):
//   sleeper: insert(me); fence(seq_cst); look for work; sleep if there is none.
//   waker:   publish work; fence(seq_cst); take_one_in(...); wake the worker that was taken.
// At least one of them sees the other. Both fences are needed if the work is published by a release store and
// looked for by weaker loads; a side may leave its fence out only if its own access to the work is seq_cst.
//
// A scan of several words is no snapshot: it may miss an id that moves while it runs, or see it twice. It
// sees every id that is in during the whole scan.
//
// Reclamation: the words live as long as the set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "queue/sync.hpp"

namespace weft::queue {

template <class Sync = std_sync>
class worker_set {
public:
    using id_type = std::uint32_t;

    // Ids are 0 .. capacity-1.
    explicit worker_set(std::size_t capacity)
        : capacity_(capacity)
        , word_count_(std::max<std::size_t>(1, (capacity + k_bits - 1) / k_bits))
        , words_(new word[word_count_]) {
        for (std::size_t at = 0; at < word_count(); ++at) {
            // relaxed: no other thread knows the set yet
            words_[at].store(0, std::memory_order::relaxed);
        }
    }
    worker_set(const worker_set&) = delete;
    worker_set& operator=(const worker_set&) = delete;

    std::size_t capacity() const noexcept { return capacity_; }

    // True if the id was not in.
    bool insert(id_type id) noexcept {
        // seq_cst: the sleeper's store of Dekker's pattern, against look(); the release pairs with erase()
        // (I3)
        return (word_of(id).fetch_or(bit_of(id), std::memory_order::seq_cst) & bit_of(id)) == 0;
    }

    // True if the id was in. Of several threads, one is told so (I2).
    bool erase(id_type id) noexcept {
        // seq_cst: ordered with every insert() and look(); the acquire pairs with insert() (I3)
        return (word_of(id).fetch_and(~bit_of(id), std::memory_order::seq_cst) & bit_of(id)) != 0;
    }

    bool contains(id_type id) const noexcept { return (look(id / k_bits) & bit_of(id)) != 0; }

    // True if any id of [first, last) is in.
    bool any_in(id_type first, id_type last) const noexcept {
        for (id_type from = first; from < last; from = next_word(from)) {
            if ((look(from / k_bits) & mask(from, last)) != 0) return true;
        }
        return false;
    }

    bool empty() const noexcept {
        std::size_t at = 0;
        do { // there is at least one word
            if (look(at) != 0) return false;
        } while (++at < word_count());
        return true;
    }

    // Erases one id of [first, last) and returns it; looks from `start` upwards first, then from `first`.
    // Returns nothing if it found none.
    std::optional<id_type> take_one_in(id_type first, id_type last, id_type start) noexcept {
        if (start < first || start >= last) start = first;
        if (const auto taken = take_upwards(start, last)) return taken;
        return take_upwards(first, start);
    }

    // One id of [first, last), from `start` upwards first, then from `first`; it stays in.
    std::optional<id_type> find_in(id_type first, id_type last, id_type start) const noexcept {
        if (empty()) return std::nullopt; // the usual case in a busy program
        if (start < first || start >= last) start = first;
        if (const auto found = find_upwards(start, last)) return found;
        return find_upwards(first, start);
    }

    // The number of ids that are in, counted word by word.
    std::size_t count() const noexcept {
        std::size_t sum = 0;
        for (std::size_t at = 0; at < word_count(); ++at) {
            sum += static_cast<std::size_t>(std::popcount(look(at)));
        }
        return sum;
    }

    // Calls f(id) for every id that it finds in the set, in rising order.
    template <class Function>
    void for_each(Function&& f) const {
        for (std::size_t at = 0; at < word_count(); ++at) {
            for (std::uint64_t left = look(at); left != 0; left &= left - 1) f(lowest(at, left));
        }
    }

private:
    using word = typename Sync::template atomic<std::uint64_t>;
    static constexpr id_type k_bits = 64;

    std::size_t word_count() const noexcept { return word_count_; }
    word& word_of(id_type id) noexcept { return words_[id / k_bits]; }
    static constexpr std::uint64_t bit_of(id_type id) noexcept { return std::uint64_t{1} << (id % k_bits); }
    static constexpr id_type next_word(id_type id) noexcept { return (id / k_bits + 1) * k_bits; }
    static id_type lowest(std::size_t at, std::uint64_t bits) noexcept {
        return static_cast<id_type>(at) * k_bits + static_cast<id_type>(std::countr_zero(bits));
    }

    // The bits of [from, last) in the word of `from`; none beyond the last id of the range (I1).
    static constexpr std::uint64_t mask(id_type from, id_type last) noexcept {
        const std::uint64_t low = ~std::uint64_t{0} << (from % k_bits);
        const std::uint64_t high = last >= next_word(from) ? ~std::uint64_t{0} : bit_of(last) - 1;
        return low & high;
    }

    std::uint64_t look(std::size_t at) const noexcept {
        // seq_cst: the waker's load of Dekker's pattern, against insert()
        return words_[at].load(std::memory_order::seq_cst);
    }

    std::optional<id_type> find_upwards(id_type first, id_type last) const noexcept {
        for (id_type from = first; from < last; from = next_word(from)) {
            const std::size_t at = from / k_bits;
            if (const std::uint64_t found = look(at) & mask(from, last)) return lowest(at, found);
        }
        return std::nullopt;
    }

    std::optional<id_type> take_upwards(id_type first, id_type last) noexcept {
        for (id_type from = first; from < last; from = next_word(from)) {
            const std::size_t at = from / k_bits;
            std::uint64_t found = look(at) & mask(from, last);
            while (found != 0) {
                const id_type id = lowest(at, found);
                if (erase(id)) return id;
                found = look(at) & mask(from, last);
            }
        }
        return std::nullopt;
    }

    const std::size_t capacity_;
    const std::size_t word_count_;
    const std::unique_ptr<word[]> words_;
};

} // namespace weft::queue
