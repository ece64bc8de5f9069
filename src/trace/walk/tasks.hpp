#pragma once

#include "trace/walk/row_index.hpp"
#include "trace/walk/tables.hpp"
#include "trace/write/record.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::trace {

/// The table of tasks while the walk fills it.
class tasks {
public:
    explicit tasks(std::span<const record> records) : index_(records) {}

    /// `no_row` for a task that was not mentioned yet.
    row find(std::uint32_t number) const { return index_.find(number); }
    row find_or_add(std::uint32_t number);
    /// A row for a task that is spawned now. Numbers come again when all have been given out: a task that had
    /// the number before keeps its own row.
    row spawn(std::uint32_t number);

    std::size_t size() const noexcept { return unsure_.size(); }

    /// Lost events may hide a part of the task's own time.
    void doubt(row t) { unsure_[t] = true; }

    /// The table, in which own times that are in doubt are `unknown`.
    task_table finish();

    task_table table{};

private:
    row_index index_;
    std::vector<bool> unsure_; ///< by row
};

} // namespace weft::trace
