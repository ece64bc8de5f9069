#pragma once

#include "trace/write/record.hpp"

#include <cstdint>
#include <vector>

namespace weft::trace {

/// The records of a trace that is made up for a test.
struct made_trace {
    std::vector<record> records{};

    made_trace& on(std::uint16_t stream, std::uint64_t at, kind k, std::uint64_t a = 0, std::uint64_t b = 0,
                   std::uint32_t n = 0, std::uint8_t what = 0) {
        records.push_back({.at = at, .a = a, .b = b, .n = n, .what_kind = k, .what = what, .stream = stream});
        return *this;
    }
    made_trace& spawn(std::uint16_t stream, std::uint64_t at, std::uint32_t task, origin from,
                      std::uint64_t group = 0) {
        return on(stream, at, kind::spawn, task, group, 0, static_cast<std::uint8_t>(from));
    }
    made_trace& begin(std::uint16_t worker, std::uint64_t at, std::uint32_t task, start how = start::fresh) {
        return on(worker, at, kind::begin, task, 0, 0, static_cast<std::uint8_t>(how));
    }
    made_trace& end(std::uint16_t worker, std::uint64_t at, std::uint32_t task) {
        return on(worker, at, kind::end, task);
    }
};

} // namespace weft::trace
