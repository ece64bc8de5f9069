#pragma once

#include "graph/large_memory.hpp"
#include "graph/stable_array.hpp"

#include <weft/impl/graph_node.hpp>

#include <tsl/robin_map.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace weft {

/// Which task waits for which, so that tasks that touch the same data seem to run in the order in which they
/// were added.
///
///   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, 2.1.
///
/// A datum has generations. A generation is one task that writes the datum, or several consecutive ones that
/// declared `concurrent` (or `commutative`), and the readers since. A reader waits for the writers of the
/// present generation. A writer waits for its readers, or for its writers if it has no reader, and begins a
/// new generation. Everything here is guarded by the graph's lock.
class data_versions {
public:
    data_versions() {
        versions_.grow();
        links_.grow();
    }

    /// The number of a datum, from 1 to 2^30 - 1. It is found by `known` if that is not null (0: not known
    /// yet; it is set then), else by the address.
    std::uint32_t find(const void* address, std::uint32_t* known);

    /// Task `t`, which is younger than all others, accesses the datum. Calls `wait_for(u)` for each task that
    /// `t` has to wait for, for some perhaps twice.
    template <class WaitFor>
    void access(std::uint32_t datum, impl::data_mode mode, std::uint32_t t, WaitFor&& wait_for) {
        version& v = versions_[datum];
        const auto wait_for_all = [&](std::uint32_t list) {
            for (; list; list = links_[list].next)
                if (links_[list].task != t) wait_for(links_[list].task);
        };
        if (mode == impl::data_mode::read) {
            wait_for_all(v.writers);
            if (!v.readers || links_[v.readers].task != t) push(v.readers, t);
            return;
        }
        const bool joins = mode != impl::data_mode::write && v.kind == mode && v.writers && !v.readers;
        if (joins) {
            wait_for_all(v.before);
        } else {
            const std::uint32_t last = v.readers ? v.readers : v.writers;
            wait_for_all(last);
            free(v.before);
            free(v.readers ? v.writers : v.readers);
            v.before = mode == impl::data_mode::write ? 0 : last;
            if (!v.before) free(last);
            v.readers = v.writers = 0;
            v.kind = mode;
        }
        push(v.writers, t);
    }

private:
    struct link {
        std::uint32_t task, next;
    };
    struct version { // heads of lists
        std::uint32_t writers = 0, readers = 0;
        std::uint32_t before = 0; ///< the tasks that the first of several writers waited for
        impl::data_mode kind = impl::data_mode::write;
    };

    void push(std::uint32_t& list, std::uint32_t task) {
        std::uint32_t at = free_;
        if (at) {
            free_ = links_[at].next;
        } else {
            at = links_.size();
            links_.grow();
        }
        links_[at] = {task, list};
        list = at;
    }
    void free(std::uint32_t list) noexcept {
        while (list) free_ = std::exchange(list, std::exchange(links_[list].next, free_));
    }

    tsl::robin_map<const void*, std::uint32_t, std::hash<const void*>, std::equal_to<>,
                   large_allocator<std::pair<const void*, std::uint32_t>>>
        by_address_;
    stable_array<version> versions_; ///< number 0 is no datum
    stable_array<link> links_;       ///< number 0 ends a list
    std::uint32_t free_ = 0;
};

inline std::uint32_t data_versions::find(const void* address, std::uint32_t* known) {
    if (known && *known) return *known;
    std::uint32_t next = versions_.size();
    if (known) {
        *known = next;
    } else if (const auto [at, fresh] = by_address_.try_emplace(address, next); !fresh) {
        return at->second;
    }
    versions_.grow();
    return next;
}

} // namespace weft
