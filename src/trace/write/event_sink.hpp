#pragma once

#include "trace/write/record.hpp"

#include <cstdint>

namespace weft::trace {

/// Takes the events of an engine with one worker as they happen, in place of a file.
struct event_sink {
    /// A number for a new task, below `first_common`. Called by the worker.
    virtual std::uint32_t new_task() noexcept = 0;
    /// An event of the worker; its time is in ticks of the recorder's clock.
    virtual void take(const record&) noexcept = 0;
    /// An event of another thread, beside the worker's; one thread at a time calls it.
    virtual void take_outside(const record&) noexcept = 0;

    /// Tasks of other threads, and those that get their numbers in a row, have numbers from here on.
    static constexpr std::uint32_t first_common = std::uint32_t{1} << 31;

protected:
    ~event_sink() = default;
};

} // namespace weft::trace
