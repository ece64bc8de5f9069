// Three kinds of tasks that get into each other's way, or do not: they compute, they take one lock again and
// again, they read records of a large table in no order.
//
//   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015,
//   section 4.3.
//
// They say nothing of resources: a file may give them needs by their names, see docs/resources.md.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace examples {

inline constexpr std::uint64_t lock_cycles = 20;      // an atomic exchange of a line in the first-level cache
inline constexpr std::uint64_t pause_cycles = 10;     // between two looks at a lock that is taken
inline constexpr double add_cycles_per_number = 0.25; // of a record, in the first-level cache

// A task that waits for it keeps the worker busy, as a mutex of the system does. Each look at it is a stretch of its
// own for an engine that models time, or the holder would not get to release it.
class spinning_lock {
public:
    void lock() {
        for (;;) {
            weft::touch(&taken_, sizeof taken_, weft::access::readwrite);
            weft::cost(lock_cycles);
            if (!taken_.exchange(true, std::memory_order_acquire)) return;
            for (int looks = 1; taken_.load(std::memory_order_relaxed); ++looks) {
                weft::touch(&taken_, sizeof taken_, weft::access::read);
                weft::cost(pause_cycles);
                if (looks % 1000 == 0) std::this_thread::yield(); // the owner may have no processor
            }
        }
    }
    void unlock() {
        weft::touch(&taken_, sizeof taken_, weft::access::write);
        weft::cost(lock_cycles);
        taken_.store(false, std::memory_order_release);
    }

private:
    alignas(64) std::atomic<bool> taken_ = false;
};

// How much there is of everything.
struct interference_sizes {
    std::size_t tasks = 0;   // of each kind
    std::size_t steps = 0;   // that a task computes
    std::size_t turns = 0;   // for which a task takes the lock
    std::size_t bytes = 0;   // of the table
    std::size_t records = 0; // that a task reads
};

class interference {
public:
    static constexpr std::size_t record = 64;    // numbers: 512 bytes
    static constexpr std::size_t held_steps = 1; // while the lock is held
    static constexpr std::size_t free_steps = 1; // between two turns

    explicit interference(interference_sizes sizes)
        : sizes_(sizes)
        , table_(sizes.bytes / sizeof(std::uint64_t) / record * record)
        , computed_(sizes.tasks)
        , read_(sizes.tasks) {
        std::iota(table_.begin(), table_.end(), std::uint64_t{0});
    }

    // BEGIN-EXAMPLE interference
    // In random order, so that the three kinds meet in all combinations.
    void add_to(weft::graph& dag, std::uint64_t seed) {
        std::vector<std::size_t> order(3 * sizes_.tasks);
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_at(seed, i) % i]);
        for (const std::size_t i : order) {
            const std::size_t task = i / 3;
            if (i % 3 == 0) dag.add([this, task] { compute(task); }, weft::name("compute"));
            if (i % 3 == 1) dag.add([this] { take_turns(); }, weft::name("mutex"));
            if (i % 3 == 2) dag.add([this, task] { read(task); }, weft::name("read"));
        }
    }
    // END-EXAMPLE interference

    bool is_right() const {
        bool right = turns_ == sizes_.tasks * sizes_.turns;
        for (std::size_t i = 0; i < sizes_.tasks; ++i) {
            std::uint64_t sum = 0;
            for (std::size_t r = 0; r < sizes_.records; ++r)
                sum += record * first_of(i, r) + record * (record - 1) / 2;
            right = right && computed_[i] == mixed(i, sizes_.steps) && read_[i] == sum;
        }
        return right;
    }

private:
    // Where a record begins; also the number that stands there.
    std::uint64_t first_of(std::size_t task, std::size_t r) const {
        return random_at(task, r) % (table_.size() / record) * record;
    }

    void compute(std::size_t task) {
        spend(sizes_.steps, mix_cycles);
        computed_[task] = mixed(task, sizes_.steps);
    }

    void take_turns() {
        std::uint64_t x = 0;
        for (std::size_t i = 0; i < sizes_.turns; ++i) {
            lock_.lock();
            spend(held_steps, mix_cycles);
            x = mixed(x, held_steps);
            ++turns_;
            lock_.unlock();
            spend(free_steps, mix_cycles);
            x = mixed(x, free_steps);
        }
        last_.store(x, std::memory_order_relaxed);
    }

    void read(std::size_t task) {
        std::uint64_t sum = 0;
        for (std::size_t r = 0; r < sizes_.records; ++r) {
            const std::uint64_t* const first = table_.data() + first_of(task, r);
            weft::touch(first, record * sizeof *first, weft::access::read);
            spend(record, add_cycles_per_number); // one after the other: nothing is fetched ahead
            sum = std::accumulate(first, first + record, sum);
        }
        read_[task] = sum;
    }

    interference_sizes sizes_;
    std::vector<std::uint64_t> table_;
    std::vector<std::uint64_t> computed_, read_; // results
    spinning_lock lock_;
    std::size_t turns_ = 0;              // taken so far; guarded by the lock
    std::atomic<std::uint64_t> last_{0}; // so that the compiler does not leave out the work
};

} // namespace examples
