#pragma once

namespace weft::openmp {

/// A teams construct on the host: the code once for each team, one after the other on the stack of the caller, each as an initial
/// task. OpenMP lets teams not wait for each other. `thread_limit` 0: none was given.
void run_league(int teams, int thread_limit, void (*code)(void*), void* data);

/// A target region on the host: the code begins anew, as the initial task of a device does, outside of any parallel region.
void run_as_initial_task(void (*code)(void*), void* data, int thread_limit);

} // namespace weft::openmp
