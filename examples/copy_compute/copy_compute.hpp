// Tasks that copy memory beside tasks that compute.
//
//   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015.
//
// A few copies at once use up the bandwidth of the memory; each more only makes all of them slower. Copies
// need the resource `bandwidth`, so that a file can say how many of them are good for the machine: the others
// compute meanwhile.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace examples {

inline constexpr double copy_cycles_per_byte = 0.04; // with both sides in the first-level cache

class copy_compute {
public:
    // `workers`: as many copies there are at once at most; each needs memory of its own.
    copy_compute(std::size_t copies, std::size_t bytes, std::size_t computations, std::size_t steps,
                 int workers)
        : copies_(copies)
        , bytes_(bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t))
        , steps_(steps)
        , results_(computations)
        , buffers_(static_cast<std::size_t>(workers)) {}

    // BEGIN-EXAMPLE copy_compute
    void add_to(weft::graph& dag, const std::vector<std::size_t>& order) {
        for (std::size_t i : order) {
            if (i < copies_) {
                dag.add([this, i] { copy(i); }, weft::needs("bandwidth", 1), weft::name("copy"));
            } else {
                dag.add([this, i] { compute(i - copies_); }, weft::name("compute"));
            }
        }
    }
    // END-EXAMPLE copy_compute

    // After so many runs.
    bool is_right(std::size_t runs) const {
        if (copied_.load(std::memory_order_relaxed) != runs * copies_) return false;
        for (std::size_t i = 0; i < results_.size(); ++i) {
            if (results_[i] != mixed(i, steps_)) return false;
        }
        return true;
    }

    // Numbers of tasks; the copies come before the computations.
    std::vector<std::size_t> copies_first() const {
        std::vector<std::size_t> order(copies_ + results_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        return order;
    }
    std::vector<std::size_t> in_random_order(std::uint64_t seed) const {
        std::vector<std::size_t> order = copies_first();
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_at(seed, i) % i]);
        return order;
    }

private:
    struct buffer {
        std::unique_ptr<std::uint64_t[]> from, to;
    };

    // A number that depends on the task stands at both ends of what is copied, and must arrive.
    void copy(std::size_t task) {
        // Nothing in here suspends the task, so no other task on this worker uses its buffer meanwhile.
        buffer& b = buffers_[static_cast<std::size_t>(weft::this_task::worker())];
        const std::size_t numbers = bytes_ / sizeof(std::uint64_t);
        if (!b.from) {
            b.from = std::make_unique<std::uint64_t[]>(numbers);
            b.to = std::make_unique<std::uint64_t[]>(numbers);
        }
        const std::uint64_t mark = mix(task);
        b.from[0] = b.from[numbers - 1] = mark;
        weft::touch(b.from.get(), bytes_, weft::access::read);
        weft::touch(b.to.get(), bytes_, weft::access::write);
        spend(bytes_, copy_cycles_per_byte);
        std::memcpy(b.to.get(), b.from.get(), bytes_);
        if (b.to[0] == mark && b.to[numbers - 1] == mark) copied_.fetch_add(1, std::memory_order_relaxed);
    }

    void compute(std::size_t i) {
        weft::touch(&results_[i], sizeof(std::uint64_t), weft::access::write);
        spend(steps_, mix_cycles);
        results_[i] = mixed(i, steps_);
    }

    std::size_t copies_, bytes_, steps_;
    std::vector<std::uint64_t> results_; // of computations
    std::vector<buffer> buffers_;        // of workers
    std::atomic<std::size_t> copied_ = 0;
};

} // namespace examples
