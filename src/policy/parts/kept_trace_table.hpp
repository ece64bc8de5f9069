#pragma once

#include "policy/parts/performance_trace_table.hpp"
#include "policy/seam/policy.hpp"

#include "machine/machine.hpp"
#include "queue/cell.hpp"
#include "task/task.hpp"

#include <array>
#include <cstddef>
#include <string>

/// A trace table that is kept over runs, in a file. Ours; what XiTAO learns ends with the run.
///
/// The first line names the format. A line that begins with "of" names workers: how many, the speeds of their cores, and the machine.
/// Below it is what these workers have measured, a line for each type, leader and width: the type in hexadecimal digits, the leader,
/// the width, the time in nanoseconds. So one file serves several machines, and teams beside all workers: each reads its own part,
/// and replaces that part when it writes.
///
/// A type that is only an address of code is left out: in another run it is another address.
///
///   word      | writer                                | readers              | order
///   lasting_  | the worker that has a task of a type  | the same; the writer | relaxed: read at the end, after the workers
namespace weft {

class kept_trace_table {
public:
    /// Fills the table with what the file says of the workers of `context`, if there is such a file. Both must outlive this.
    /// Allocates: for policy::attach. Throws weft::error for a file that is no trace table.
    kept_trace_table(std::string file, const machine& m, const policy_context& context,
                     performance_trace_table& table);
    kept_trace_table(const kept_trace_table&) = delete;
    kept_trace_table& operator=(const kept_trace_table&) = delete;
    /// Writes the file, if a task has come whose type is kept. A failure is reported on the standard error stream.
    ~kept_trace_table();

    /// A task of that type has come. Any worker.
    void comes(int type, const task& t) noexcept;

private:
    void write() const;

    const std::string file_, of_; ///< the line that names the workers
    const int workers_;
    performance_trace_table& table_;
    std::array<queue::cell<bool>, performance_trace_table::most_types> lasting_{};
    queue::cell<bool> has_come_{false};
};

} // namespace weft
