#pragma once

#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace weft::test {

/// A policy on a machine of `sockets` packages with `cores` cores each, and a worker on every core.
struct on_sockets {
    on_sockets(const std::string& spec, int sockets, int cores, int workers = 0)
        : on(load_synthetic("pack:" + std::to_string(sockets) + " [numa] l3:1 core:" + std::to_string(cores) +
                            " pu:1"))
        , context(workers == 0 ? sockets * cores : workers)
        , scheduler(make_policy(spec)) {
        need = scheduler->attach(on, context);
    }
    policy* operator->() const { return scheduler.get(); }

    task& make(task* parent = nullptr) {
        task& t = tasks.emplace_back();
        t.parent_ = parent;
        if (parent != nullptr) t.level_ = parent->level_ + 1;
        return t;
    }
    task& add(worker_id w, ready_reason reason) {
        task& t = make();
        scheduler->ready(w, t, reason);
        return t;
    }
    /// A child of that size.
    task& child_of(task& parent, std::size_t bytes = 0) {
        task& t = make(&parent);
        t.hint_.bytes = bytes;
        return t;
    }

    machine on;
    fake_context context;
    requirements need;
    std::unique_ptr<policy> scheduler;
    std::deque<task_with_bytes> tasks;
};

} // namespace weft::test
