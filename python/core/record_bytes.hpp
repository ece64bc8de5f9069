#pragma once

#include "trace/write/record.hpp"

#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>

namespace weft {

/// The records of a trace as NumPy has them: n x 32 bytes, without a copy.
using record_bytes = nanobind::ndarray<const std::uint8_t, nanobind::ndim<2>, nanobind::shape<-1, 32>,
                                       nanobind::c_contig, nanobind::device::cpu>;

inline std::span<const trace::record> as_records(const record_bytes& bytes) {
    static_assert(sizeof(trace::record) == 32);
    return {reinterpret_cast<const trace::record*>(bytes.data()), bytes.shape(0)};
}

} // namespace weft
