#pragma once

#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

/// The largest criticality of the tasks that run.
///
///   XiTAO (elastic_places.hpp), section 3.2.1: crit(node) = 1 + max(crit(child)), which is task::bottom_level(). A node that
///   becomes ready is critical if its criticality is at least this maximum.
///
/// Each worker notes what it runs; a reader takes the maximum. The task whose end makes another one ready still counts as
/// running then. So the reader leaves out the task that it runs itself, with all its shares: otherwise no successor would ever
/// be critical.
///
/// word | writer      | readers    | order
/// note | its worker  | any worker | relaxed: a figure that guards nothing
namespace weft {

class running_criticality {
public:
    /// Allocates: for policy::attach.
    void attach(int workers) {
        count_ = workers;
        mine_ = std::make_unique<one[]>(static_cast<std::size_t>(workers));
    }

    void runs(worker_id w, const task& t) noexcept {
        at(w).note.store_relaxed(static_cast<std::uint64_t>(t.bottom_level()) << 32U | t.graph_number());
    }
    void ends(worker_id w) noexcept { at(w).note.store_relaxed(0); }

    bool is_critical(worker_id w, const task& t) const noexcept { return t.bottom_level() >= most_but_of(w); }

    /// Of all running tasks but the one that `w`, the caller, runs.
    int most_but_of(worker_id w) const noexcept {
        const std::uint64_t own = at(w).note.load_relaxed();
        std::uint64_t most = 0;
        for (worker_id v = 0; v < count_; ++v)
            if (const std::uint64_t note = at(v).note.load_relaxed(); note != own)
                most = std::max(most, note);
        return static_cast<int>(most >> 32U);
    }

private:
    struct alignas(queue::k_cache_line_bytes) one {
        queue::cell<std::uint64_t> note{0}; ///< criticality << 32 | number of the task; 0: none
    };
    one& at(worker_id w) const noexcept { return mine_[static_cast<std::size_t>(w)]; }

    int count_ = 0;
    std::unique_ptr<one[]> mine_;
};

} // namespace weft
