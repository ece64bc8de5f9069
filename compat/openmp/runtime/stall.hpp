#pragma once

namespace weft::openmp {

/// A note on standard error, once, if threads of teams have waited for a worker for some seconds and none has begun meanwhile: the threads that
/// run may wait for them, in loops of their own. Only teams with more threads than workers, and those inside of others, are counted.
///
/// So many threads may have to wait for a worker. Before they start.
void threads_will_begin(int) noexcept;
/// One of them has begun.
void thread_has_begun() noexcept;

} // namespace weft::openmp
