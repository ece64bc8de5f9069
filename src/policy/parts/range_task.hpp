#pragma once

#include "policy/parts/distribution_tree.hpp"
#include "policy/parts/learned_work.hpp"
#include "policy/parts/work_range.hpp"

#include <cstdint>

/// What almost deterministic work stealing keeps in the bytes of a task.
///
/// All zero: the task has no range. Only the worker that runs the task, or that has taken it out of a queue,
/// writes here. Silent descendants copy the bytes, so they are not written while there may be any.
namespace weft {

struct range_task {
    // Flags.
    static constexpr std::uint8_t known = 1;      // it has a range
    static constexpr std::uint8_t opened = 2;     // it has opened a group that crosses
    static constexpr std::uint8_t returns = 4;    // it waits for a group that crosses
    static constexpr std::uint8_t counted = 8;    // it runs without a range, and is counted
    static constexpr std::uint8_t invited = 16;   // to be anchored (anchored_root.hpp)
    static constexpr std::uint8_t descended = 32; // it has a group open that went to a deeper level

    work_range range;
    distribution_tree::node* node; // innermost group that crosses
    learned_work::place place;
    std::int16_t end; // of the members among which the range lies
    std::uint8_t level;
    std::uint8_t flags;

    bool has(std::uint8_t any_of) const noexcept { return (flags & any_of) != 0; }
    bool crosses() const noexcept { return has(known) && range.crosses(); }
};

} // namespace weft
