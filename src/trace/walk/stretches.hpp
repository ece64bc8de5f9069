#pragma once

#include "trace/walk/tables.hpp"
#include "trace/write/record.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::trace {

/// The table of what the workers ran, while the walk fills it.
class segments {
public:
    explicit segments(std::size_t workers) : last_(workers, none) {}

    /// Worker `w` ran the task of that number from `begin` to `end`. Extends the worker's last segment where
    /// nothing lies between.
    void add(std::size_t w, std::uint32_t task, std::int64_t begin, std::int64_t end);

    segment_table table{};

private:
    static constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> last_; ///< by worker: index into the table
};

/// The table of when workers searched and slept, while the walk fills it.
class idle_stretches {
public:
    explicit idle_stretches(std::size_t workers) : of_worker_(workers) {}

    /// `k` is search, found, sleep or wake. A worker that sleeps does not search.
    void turn(std::size_t w, kind k, std::int64_t when);
    /// Events of the worker are missing.
    void lose(std::size_t w) { of_worker_[w] = {}; }
    /// Nothing more is known of the worker after `when`.
    void finish(std::size_t w, std::int64_t when);

    idle_table table{};

private:
    struct since {
        std::int64_t search = unknown, sleep = unknown;
    };

    void add(std::size_t w, bool asleep, std::int64_t begin, std::int64_t end);

    std::vector<since> of_worker_;
};

} // namespace weft::trace
