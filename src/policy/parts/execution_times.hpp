#pragma once

#include "policy/parts/performance_trace_table.hpp"
#include "policy/seam/policy.hpp"

#include "machine/machine.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

/// What a task of a type takes on a worker, as measured so far: on this worker, else on another one whose core is of the same
/// class. The running mean is that of the trace table.
namespace weft {

class execution_times {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, const policy_context& context) {
        table_.attach(context.all().size(), false);
        for (worker_id w = 0; w < context.all().size(); ++w)
            class_of_.push_back(m.core_at(context.core_of(w)).core_class);
    }

    int type_of(std::string_view name) noexcept { return table_.type_of(name); }
    /// By the worker that has run the task.
    void update(int type, worker_id w, time_ns took) noexcept { table_.update(type, {w, 1}, took); }

    /// Nanoseconds; 0: no core of this class has run that type.
    time_ns on(int type, worker_id w) const noexcept {
        if (const time_ns own = table_.time(type, {w, 1}); own != 0) return own;
        for (std::size_t v = 0; v < class_of_.size(); ++v)
            if (class_of_[v] == class_of_[static_cast<std::size_t>(w)])
                if (const time_ns like = table_.time(type, {static_cast<worker_id>(v), 1}); like != 0)
                    return like;
        return 0;
    }

private:
    performance_trace_table table_;
    std::vector<int> class_of_;
};

} // namespace weft
