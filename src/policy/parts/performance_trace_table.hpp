#pragma once

#include "policy/parts/class_table.hpp"
#include "policy/parts/elastic_places.hpp"
#include "policy/seam/policy.hpp"

#include "machine/machine.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// What tasks took where: a time for each type of task, leader and width.
///
///   XiTAO (elastic_places.hpp), section 3.1: saved = (4 * old + new) / 5, by the leader alone, after each execution. A
///   time of 0 has never been measured, so that each configuration is tried once.
///
/// The first measurement is stored as it is; by the formula, which `literal` keeps, it would look five times as fast as it
/// is. A type is the class of a task (task_class.hpp). Types beyond most_types are not kept: their times stay 0.
///
///   word  | writer                 | readers     | order
///   time  | the leader of the row  | any worker  | relaxed: a figure that guards nothing
namespace weft {

class performance_trace_table {
public:
    static constexpr int most_types = 256, most_widths = 7; // up to max_width
    static_assert(1 << (most_widths - 1) == max_width);
    static constexpr int no_type = class_table::no_class;

    /// Allocates: for policy::attach.
    void attach(const machine& m, const policy_context& context, bool literal) {
        literal_ = literal;
        for (worker_id w = 0; w < context.all().size(); ++w)
            kind_of_.push_back(m.core_at(context.core_of(w)).core_class);
        rows_ = std::make_unique<row[]>(static_cast<std::size_t>(most_types) * kind_of_.size());
    }

    /// The number of a type, which is given out at its first use. `key`: class_of() the task.
    int type_of(std::uint64_t key) noexcept { return types_.find_or_add(key); }

    /// Nanoseconds; 0: never measured.
    time_ns time(int type, elastic_place at) const noexcept {
        return type == no_type ? 0 : cell_of(type, at).load_relaxed();
    }

    std::uint64_t key_of(int type) const noexcept { return types_.key_of(type); }

    /// Calls each(type, place, time) for all that was measured. At rest.
    template <class Each>
    void for_each(Each&& each) const {
        for (int type = 0; type < most_types; ++type)
            for (worker_id leader = 0; leader < static_cast<worker_id>(kind_of_.size()); ++leader)
                for (int width = 1; width <= max_width; width *= 2)
                    if (const time_ns took = time(type, {leader, width}); took != 0)
                        each(type, elastic_place{leader, width}, took);
    }
    /// What an earlier run has measured. Before any worker runs.
    void set(int type, elastic_place at, time_ns took) noexcept { cell_of(type, at).store_relaxed(took); }

    /// In this place, else in another one of that width whose leader's core is of the same class; 0: none of them has run that type.
    time_ns time_like(int type, elastic_place at) const noexcept {
        if (const time_ns own = time(type, at); own != 0) return own;
        for (std::size_t v = 0; v < kind_of_.size(); ++v)
            if (kind_of_[v] == kind_of_[static_cast<std::size_t>(at.leader)])
                if (const time_ns like = time(type, {static_cast<worker_id>(v), at.width}); like != 0)
                    return like;
        return 0;
    }

    /// By the worker that was the leader.
    void update(int type, elastic_place at, time_ns took) noexcept {
        if (type == no_type) return;
        auto& saved = cell_of(type, at);
        const time_ns old = saved.load_relaxed();
        if (took < 1) took = 1; // 0 means something else
        saved.store_relaxed(old == 0 && !literal_ ? took : (4 * old + took) / 5);
    }

private:
    struct alignas(queue::k_cache_line_bytes) row { // of a type and a leader
        std::array<queue::cell<time_ns>, most_widths> by_width;
    };

    queue::cell<time_ns>& cell_of(int type, elastic_place at) const noexcept {
        const auto r = static_cast<std::size_t>(type) * kind_of_.size() + static_cast<std::size_t>(at.leader);
        return rows_[r].by_width[static_cast<std::size_t>(log2_of_width(at.width))];
    }

    static constexpr int bits_of_types = 8;
    static_assert(1 << bits_of_types == most_types);

    bool literal_ = false;
    class_table types_{bits_of_types};
    std::vector<int> kind_of_; ///< of each worker: the class of its core at attach()
    std::unique_ptr<row[]> rows_;
};

} // namespace weft
