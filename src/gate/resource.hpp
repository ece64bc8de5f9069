#pragma once

#include "machine/machine.hpp"
#include "queue/chain.hpp"
#include "task/task.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The parts of a machine that have a resource each: a task takes it where it runs.
enum class scope : std::uint8_t { machine, package, memory_node, cache, core, device };

struct core_pool;
struct resource;

/// Resources of which only one is in use at a time, by any number of tasks.
struct exclusive_set {
    std::vector<resource*> members{};
    resource* active = nullptr; ///< in use
    int users = 0;              ///< claims that hold some of it
};

/// A named quantity, of which tasks take whole amounts. A datum that tasks change in turn (`commutative`) is
/// a resource without a name and with a total of 1.
///
///   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015.
///
/// Everything that changes belongs to the gate's lock.
struct resource {
    struct quantity { ///< of one place
        std::int64_t total = 1;
        std::int64_t used = 0;
        std::int64_t promised = 0; ///< to tasks that gate::reconsider has let go
        rank_range ranks{};        ///< of workers that can use it; unused for the scopes machine and device
    };

    std::string name{};
    scope per = scope::machine;
    std::vector<quantity> at = std::vector<quantity>(1);
    bool rests = false;   ///< given back while the task that holds it is suspended
    bool exceeds = false; ///< as long as some of it is free a task may start, even if it needs more
    exclusive_set* set = nullptr;
    core_pool* pool = nullptr;    ///< the pool whose workers it stands for; null: it stands for none
    queue::chain<task> refused{}; ///< tasks for which there was not enough of it, in that order

    bool has_places() const noexcept { return per != scope::machine && per != scope::device; }
    std::int64_t most() const noexcept; ///< the largest total of a place
    /// The index of the place whose workers have this rank; -1: there is none. 0 without places.
    int place_at(int rank) const noexcept;
    std::string_view label() const noexcept { return name.empty() ? "a datum" : std::string_view(name); }
};

/// What every task of a class needs of a resource, whatever the program says of that resource.
struct class_need {
    resource* of = nullptr;
    std::int64_t amount = 1;
};

/// The resources of a runtime.
struct resource_table {
    std::vector<std::unique_ptr<resource>> all{};
    std::vector<std::unique_ptr<exclusive_set>> sets{};
    std::map<std::string, std::vector<class_need>, std::less<>>
        needs{};             ///< by the tasks' name; each resource once
    int reserve_after = 256; ///< refusals of a task, until it reserves what it needs

    resource* find(std::string_view name) const noexcept;
    std::string names() const; ///< for messages
};

} // namespace weft
