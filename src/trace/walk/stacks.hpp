#pragma once

#include "trace/walk/gaps.hpp"
#include "trace/walk/tables.hpp"
#include "trace/walk/tasks.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::trace {

/// Which tasks each worker has on its stack, from the bottom; only the top one runs. A part of a stack is put
/// aside while its tasks are suspended or offered to thieves. Tasks whose time lost events may hide are marked
/// in the table of tasks.
class stacks {
public:
    stacks(std::size_t workers, tasks& all, const gaps& lost)
        : tasks_(all)
        , lost_(lost)
        , of_worker_(workers) {}

    row top(std::size_t w) const { return of_worker_[w].empty() ? no_row : of_worker_[w].back().task; }
    bool is_aside(row t) const { return asides_.contains(t); }

    /// `is_below`: the task began on top of its parent.
    void push(std::size_t w, row t, bool is_below) { of_worker_[w].push_back({t, is_below}); }

    /// `t` has ended. Tasks above it, whose ends are missing, go with it.
    void remove(std::size_t w, row t);

    /// `t` and all below it leave the worker: they share one stack of the machine.
    void suspend(std::size_t w, row t, std::int64_t when);

    /// `t`, and what runs inside it up to the first child on top of it, is offered to thieves. Nothing
    /// happens if `t` is not on the stack: then the second closure of a join was offered.
    void expose(std::size_t w, row t, std::int64_t when);

    /// Puts what was put aside under `t` on the stack of worker `w`. Returns false if there was nothing.
    bool restore(std::size_t w, row t, std::int64_t when);

    /// Events of the worker are missing: what is on its stack is not known.
    void lose(std::size_t w);

    /// The trace ends at `last`.
    void finish(std::int64_t last);

private:
    struct entry {
        row task;
        bool is_below;
    };
    using stack = std::vector<entry>;
    struct aside {
        stack entries{};
        row child = no_row; ///< the rest was exposed under this task; `no_row`: suspended
        std::int64_t since = 0;
    };

    void doubt_if_lost(const aside&, std::int64_t until);

    tasks& tasks_;
    const gaps& lost_;
    std::vector<stack> of_worker_;
    std::unordered_map<row, aside> asides_;
};

} // namespace weft::trace
