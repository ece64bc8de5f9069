#pragma once

#include "policy/parts/id_table.hpp"
#include "policy/parts/miss_intensity.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"

#include <cstdint>
#include <memory>

/// The sizes of the data of subtrees, as the first iteration of a program measures them by cache misses.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, Eq. 3.6: the
///   size of a task's data is what it misses itself, and the sum of the sizes of its children.
///
/// Not here: what becomes of a size (bi_tier_partition.hpp), and where a sum is kept. That is a group of the
/// task's children, and when the group has ended, their parent.
namespace weft {

/// What ended tasks have come to. Any worker adds; it is read after all of the tasks have ended.
struct subtree_sum {
    queue::cell<std::uint64_t> bytes;
    queue::cell<std::uint64_t> instructions;
    queue::cell<std::uint64_t> cpu_bound; ///< instructions of CPU-bound tasks

    void add(const subtree_sum& other) noexcept {
        bytes.add(other.bytes.load_relaxed());
        instructions.add(other.instructions.load_relaxed());
        cpu_bound.add(other.cpu_bound.load_relaxed());
    }
    /// 3.8.2.3: most instructions are of CPU-bound tasks.
    bool computes() const noexcept {
        return computes_mostly(cpu_bound.load_relaxed(), instructions.load_relaxed());
    }
};

class subtree_sizes {
public:
    /// Allocates: for policy::attach. Without it no size is known.
    void attach(double misses_per_instruction) {
        misses_per_instruction_ = misses_per_instruction;
        bytes_ = std::make_unique<id_table>();
    }

    bool is_on() const noexcept { return bytes_ != nullptr; }
    /// 0: unknown.
    double bytes_of(std::uint64_t id) const noexcept {
        return static_cast<double>(bytes_ ? bytes_->find(id) : 0);
    }

    /// Eq. 3.6. `t` has ended and used so much itself; `below` is the sum of its children. Adds both to `up`
    /// unless that is null. Where no miss was counted, a leaf is taken to touch what it declares.
    void ended(const task& t, const usage& used, const subtree_sum& below, subtree_sum* up) noexcept {
        const std::uint64_t children = below.bytes.load_relaxed();
        std::uint64_t own = used.misses.value_or(0) * line_bytes;
        if (children + own == 0) own = t.hint().bytes;
        bytes_->insert(t.id(), children + own);
        if (up == nullptr) return;
        up->bytes.add(children + own);
        const std::uint64_t computed = used.instructions.value_or(0);
        const bool cpu_bound = is_cpu_bound(own / line_bytes, computed, misses_per_instruction_);
        up->instructions.add(below.instructions.load_relaxed() + computed);
        up->cpu_bound.add(below.cpu_bound.load_relaxed() + (cpu_bound ? computed : 0));
    }

private:
    static constexpr std::uint64_t line_bytes = 64;

    double misses_per_instruction_ = 0;
    std::unique_ptr<id_table> bytes_; // by task::id()
};

} // namespace weft
