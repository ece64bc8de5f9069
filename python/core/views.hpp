#pragma once

#include "policy/seam/policy.hpp"

#include <nanobind/nanobind.h>

#include <stdexcept>

namespace weft {

/// What Python sees of an object of the engine; null when that has gone.
template <class T>
struct view {
    T* of = nullptr;

    T& get() const {
        if (!of) throw std::runtime_error("it has ended, or the run is over");
        return *of;
    }
};
using task_view = view<task>;
using group_view = view<group>;
struct context_view : view<policy_context> {
    bool has_snapshots = false; ///< the policy needs them
    bool may_exchange = false;  ///< likewise
};

/// Task, Group and Context of weft._core.
void bind_views(nanobind::module_& m);

} // namespace weft
