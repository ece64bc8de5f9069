#pragma once

#include "trace/profile/burdened_paths.hpp"
#include "trace/profile/construct_figures.hpp"
#include "trace/profile/skipped_forks.hpp"
#include "trace/write/event_sink.hpp"
#include "trace/write/record.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace weft::trace {

/// What a profile keeps of a task until its end, and of a task that others wait for until they have.
struct profiled_task {
    burdened_path at{};                ///< the longest path to where it has come
    lengths began{};                   ///< to its beginning
    std::int64_t own = 0, longest = 0; ///< time in its own code; of its longest piece
    std::int64_t work =
        0; ///< `own`, and that of the tasks of which it was the parent, as far as they have ended
    std::uint64_t group = 0;
    std::bitset<most_constructs> inside{}; ///< constructs of its ancestors
    std::uint32_t number = 0, construct = 0;
    std::uint32_t parent = 0, parent_life = 0;
    std::uint32_t forks = 0, next_fork = 0; ///< its youngest fork; that fork's next older one
    std::uint32_t life = 0;                 ///< how many tasks had this row before
    std::int64_t passed_before = 0;         ///< of a fork that has not been skipped: see profile::passed_
    skipped_forks::kind_of_fork alike = 0;  ///< likewise
    origin from = origin::root;
    start how = start::fresh;
    bool is_fork = false;      ///< the second closure of a join, the runtime's own included
    bool keeps_run = false;    ///< the program is inside of a run until its end
    bool is_outermost = false; ///< no task of its construct is around it
    bool has_begun = false, has_ended = false;
};

static_assert(std::is_trivially_destructible_v<profiled_task>);

/// The tasks of a profile, by their numbers. A row is given to another task when its task is forgotten.
class profiled_tasks {
public:
    static constexpr std::uint32_t none = 0;

    profiled_tasks() { rows_.emplace_back(); }

    /// A row for a task that has its number from it.
    std::uint32_t add() {
        if (free_.empty()) {
            rows_.emplace_back();
            if (free_.capacity() < rows_.capacity()) free_.reserve(rows_.capacity()); // for forget()
            return static_cast<std::uint32_t>(rows_.size() - 1);
        }
        const std::uint32_t row = free_.back();
        free_.pop_back();
        return row;
    }
    std::uint32_t find(std::uint32_t number) const {
        if (number < event_sink::first_common) return number < rows_.size() ? number : none;
        const auto found = common_.find(number);
        return found == common_.end() ? none : found->second;
    }
    std::uint32_t find_or_add(std::uint32_t number) {
        if (number < event_sink::first_common) return find(number);
        const auto [at, is_new] = common_.try_emplace(number, none);
        if (is_new) at->second = add();
        return at->second;
    }
    /// The path of the task must have been dropped.
    void forget(std::uint32_t number) noexcept {
        const std::uint32_t row = find(number);
        if (row == none) return;
        if (number >= event_sink::first_common) common_.erase(number);
        static constexpr profiled_task
            fresh{}; // assigned: compilers make a slow `rep stos` of a row that is cleared
        const std::uint32_t life = rows_[row].life;
        rows_[row] = fresh;
        rows_[row].life = life + 1;
        free_.push_back(row);
    }

    profiled_task& operator[](std::uint32_t row) noexcept { return rows_[row]; }
    const profiled_task& operator[](std::uint32_t row) const noexcept { return rows_[row]; }
    std::size_t size() const noexcept { return rows_.size() - 1 - free_.size(); }

private:
    std::vector<profiled_task> rows_; ///< [0] is none
    std::vector<std::uint32_t> free_;
    std::unordered_map<std::uint32_t, std::uint32_t> common_; ///< rows of tasks with common numbers
};

} // namespace weft::trace
