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

    /// Before a fork of the worker, whose second closure has this name. True: no event of it comes, and none of the forks inside
    /// (a skipped fork). Then skipped_begins() comes, and at the end of each of its two closures skipped_ends(), or once
    /// skipped_is_followed(), and forks that are open come late as events.
    virtual bool skips(std::uint32_t name) noexcept = 0;
    virtual void skipped_begins(std::uint64_t at) noexcept = 0;
    /// `is_long`: the closure took a millisecond or more, and nothing inside has forked towards its end.
    virtual void skipped_ends(std::uint64_t at, bool is_long) noexcept = 0;
    virtual void skipped_is_followed(std::uint64_t at) noexcept = 0;

    /// Whether such an event matters to a sink. The others may come inside of a skipped fork.
    static constexpr bool follows(kind k) noexcept {
        switch (k) {
        case kind::spawn:
        case kind::begin:
        case kind::end:
        case kind::edge:
        case kind::graph:
        case kind::suspend:
        case kind::expose:
        case kind::returned:
        case kind::resume:
        case kind::wait:
        case kind::waited:
        case kind::ready: return true;
        default: return false;
        }
    }

    /// Tasks of other threads, and those that get their numbers in a row, have numbers from here on.
    static constexpr std::uint32_t first_common = std::uint32_t{1} << 31;

protected:
    ~event_sink() = default;
};

} // namespace weft::trace
