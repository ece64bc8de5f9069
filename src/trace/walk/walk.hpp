#pragma once

#include "trace/walk/tables.hpp"
#include "trace/write/record.hpp"

#include <cstdint>
#include <span>

namespace weft::trace {

/// Is called for each event, in the order of `tables::order`.
struct observer {
    virtual ~observer() = default;
    /// The task of row `t` has run for `ns` more.
    virtual void ran(row t, std::int64_t ns) = 0;
    /// `r` happens at `when`. `top` is the task that its worker ran until then, or `no_row`. `about` is the
    /// task that `r.a` names, if it was mentioned before, or `no_row`.
    virtual void event(const record& r, row top, row about, std::int64_t when) = 0;
};

/// `records` come in the order of the file; their streams are 0 to workers - 1 and `outside`. Any records are
/// accepted, also damaged ones. `complete`: no event of the run comes after the last of them. Throws
/// std::bad_alloc, and what `each` throws.
tables walk(std::span<const record> records, int workers, bool complete, observer* each = nullptr);

} // namespace weft::trace
