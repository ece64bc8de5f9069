#pragma once

#include "graph/large_memory.hpp"
#include "graph/stable_array.hpp"

#include <weft/impl/graph_node.hpp>

#include <tsl/robin_map.h>

#include <array>
#include <cstddef>
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
        const auto wait_for_one = [&](std::uint32_t u) {
            if (u != t) wait_for(u);
        };
        const auto wait_for_all = [&](std::uint32_t list) {
            for (; list; list = links_[list].next) wait_for_one(links_[list].task);
        };
        const auto wait_for_writers = [&] {
            if (v.has_one_writer)
                wait_for_one(v.writers);
            else
                wait_for_all(v.writers);
        };
        if (mode == impl::data_mode::read) {
            wait_for_writers();
            if (!v.readers || links_[v.readers].task != t) v.readers = new_link(t, v.readers);
            return;
        }
        const bool joins =
            mode != impl::data_mode::write && v.kind == mode && (v.has_one_writer || v.writers) && !v.readers;
        if (joins) {
            wait_for_all(v.before);
            list_writers(v);
            v.writers = new_link(t, v.writers);
            return;
        }
        if (v.readers)
            wait_for_all(v.readers);
        else
            wait_for_writers();
        free(v.before);
        v.before = 0;
        if (mode != impl::data_mode::write) { // further tasks may join, and wait for the same
            list_writers(v);
            v.before = v.readers ? v.readers : std::exchange(v.writers, 0);
        } else {
            free(v.readers);
        }
        if (!v.has_one_writer) free(v.writers);
        v = {t, 0, v.before, mode, true};
    }

private:
    struct link {
        std::uint32_t task, next;
    };
    struct version {
        std::uint32_t writers = 0; ///< the writer if there is one, else a list, the newest task first
        std::uint32_t readers = 0; ///< likewise a list
        std::uint32_t before = 0;  ///< a list: the tasks that the first of several writers waited for
        impl::data_mode kind = impl::data_mode::write;
        bool has_one_writer = false;
    };

    /// The numbers of the data whose addresses begin in one block of memory. Data that are accessed together often lie
    /// near each other. The block of an address that is no multiple of `step` is its own.
    static constexpr std::uintptr_t step = 4, steps = 16;
    struct block {
        std::array<std::uint32_t, steps> numbers{};
    };

    /// Blocks often lie at distances that are powers of two, which the product spreads over the table.
    struct hash_block {
        std::size_t operator()(std::uintptr_t of) const noexcept { return (of * 0x9e3779b97f4a7c15u) >> 32; }
    };

    std::uint32_t& number_at(const void* address) {
        const auto a = reinterpret_cast<std::uintptr_t>(address);
        const std::uintptr_t begin = a % step == 0 ? a - a % (step * steps) : a;
        auto at = by_begin_.find(begin);
        if (at == by_begin_.end()) {
            blocks_.grow(); // first, since both may throw: a block too many does no harm
            at = by_begin_.try_emplace(begin, blocks_.size() - 1).first;
        }
        return blocks_[at->second].numbers[a / step % steps];
    }

    void list_writers(version& v) {
        if (!v.has_one_writer) return;
        v.writers = new_link(v.writers, 0);
        v.has_one_writer = false;
    }
    std::uint32_t new_link(std::uint32_t task, std::uint32_t next) {
        std::uint32_t at = free_;
        if (at) {
            free_ = links_[at].next;
        } else {
            at = links_.size();
            links_.grow();
        }
        links_[at] = {task, next};
        return at;
    }
    void free(std::uint32_t list) noexcept {
        while (list) free_ = std::exchange(list, std::exchange(links_[list].next, free_));
    }

    stable_array<version> versions_; ///< number 0 is no datum
    stable_array<block> blocks_;
    tsl::robin_map<std::uintptr_t, std::uint32_t, hash_block, std::equal_to<>,
                   large_allocator<std::pair<std::uintptr_t, std::uint32_t>>>
        by_begin_;             ///< the places of the blocks in blocks_
    stable_array<link> links_; ///< number 0 ends a list
    std::uint32_t free_ = 0;
};

inline std::uint32_t data_versions::find(const void* address, std::uint32_t* known) {
    std::uint32_t& number = known ? *known : number_at(address);
    if (number == 0) {
        versions_.grow();
        number = versions_.size() - 1;
    }
    return number;
}

} // namespace weft
