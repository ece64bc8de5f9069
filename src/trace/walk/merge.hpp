#pragma once

#include "trace/walk/streams.hpp"
#include "trace/write/record.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::trace {

/// Receives the records one by one, in the order that merge() finds.
class record_sink {
public:
    /// True while the cause of `r` has not been taken.
    virtual bool must_wait(const record& r) const = 0;
    /// `r`, of `stream`, happens at `when`; the record before it in its stream happened at `before`.
    virtual void take(const record& r, std::size_t stream, std::int64_t when, std::int64_t before) = 0;

protected:
    ~record_sink() = default;
};

struct merged {
    std::vector<std::uint32_t> order{}; ///< indexes into the records
    std::int64_t first = 0, last = 0;   ///< times of the first and the last event
    std::uint64_t disorder = 0;         ///< events whose cause does not come before them
};

/// Puts the streams into one order: by time, but an effect waits for its cause, since clocks differ a little
/// and many events of the model have the same time. A record that has waited counts as if it had happened
/// when its cause did.
merged merge(streams& all, record_sink& sink);

} // namespace weft::trace
